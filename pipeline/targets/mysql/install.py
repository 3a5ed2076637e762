"""The archives of releases, and the program files in a home, wherever it came from.

A home has its programs as MySQL's own archives do, in ``bin``, ``lib`` and ``share``, or as Debian
does, in ``usr``.
"""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Generator, Mapping
from pathlib import Path, PurePosixPath

from pipeline.errors import UserError
from pipeline.targets.base.archives import CHUNK, Member, deb_members, tar_members
from pipeline.targets.base.loader import loaded
from pipeline.targets.base.programs import ENVIRONMENT

PROGRAM_FOLDERS = ("bin", "lib", "usr/sbin", "usr/lib")
"""The folders whose files make a build what it is."""

_SERVERS = ("bin/mysqld", "usr/sbin/mysqld")
_PACKED = {
    "package/server/mysqld": "bin/mysqld",
    "package/server/libaio.so.1": "lib/libaio.so.1",
}
"""Where the npm package has what is in the home of a release."""
_PACKED_SHARE = "package/server/share/"


def packed_members(archive: Path) -> Generator[Member]:
    """Give the release in an npm package; the rest of it is a database and JavaScript."""
    with gzip.open(archive) as plain, tarfile.open(fileobj=plain, mode="r|") as tar:
        for member in tar_members(tar):
            name = _PACKED.get(member.name)
            if member.name.startswith(_PACKED_SHARE):
                name = f"share/{member.name.removeprefix(_PACKED_SHARE)}"
            if name:
                yield member._replace(name=name)
        # The checksum is looked at where the file ends, not where its last member does.
        while plain.read(CHUNK):
            pass


def debian_members(folder: Path) -> Generator[Member]:
    """Give the server of Debian's packages, its messages, and the libraries of all packages.

    Libraries lie in the one folder of the machine's kind; those below it are others' plugins.
    """
    for member in deb_members(folder, ("usr/sbin/mysqld", "usr/share/mysql", "usr/lib")):
        path = PurePosixPath(member.name)
        if path.match("usr/lib/*/*.so*") or not path.is_relative_to("usr/lib"):
            yield member


def server_program(home: Path) -> Path:
    """Return the server of an installed release."""
    for name in _SERVERS:
        if (program := home / name).is_file():
            return program
    raise UserError("the archive holds no mysqld, so it is no release of MySQL")


def command(home: Path) -> tuple[str, ...]:
    """Return the command that runs the server, with the libraries that it was published with."""
    program = server_program(home)
    return loaded(home, program) if _is_debian(home) else (str(program),)


def environment(home: Path) -> Mapping[str, str]:
    """Return what the server sees: libraries that lie beside it go first."""
    if _is_debian(home):
        return ENVIRONMENT
    return {**ENVIRONMENT, "LD_LIBRARY_PATH": f"{home}/lib"}


def prefix(home: Path) -> Path:
    """Return the folder that the server takes for the one it was installed in."""
    return home / "usr" if _is_debian(home) else home


def shared(home: Path) -> Path:
    """Return the folder of the messages, character sets and scripts."""
    return prefix(home) / ("share/mysql" if _is_debian(home) else "share")


def _is_debian(home: Path) -> bool:
    return (home / "usr").is_dir()
