"""Archives of MySQL releases, and the program files of an installed release.

The folder of a build (``home``) has its files in ``bin``, ``lib`` and ``share``, like MySQL's own
archives, or in ``usr``, like Debian's packages.
"""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Generator, Mapping
from pathlib import Path, PurePosixPath

from pipeline.targets.base.archives import (
    CHUNK,
    ArchiveMember,
    deb_members,
    source_members,
    tar_members,
)
from pipeline.targets.base.loader import loaded
from pipeline.targets.base.programs import ENVIRONMENT
from pipeline.text.errors import UserError

PROGRAM_FOLDERS = ("bin", "lib", "usr/sbin", "usr/lib")
"""Folders of an installed build whose files define the build."""

_SERVERS = ("bin/mysqld", "usr/sbin/mysqld")
_PACKED = {
    "package/server/mysqld": "bin/mysqld",
    "package/server/libaio.so.1": "lib/libaio.so.1",
}
"""Files of a release: the path in the npm package, and the path in the folder of the build."""
_PACKED_SHARE = "package/server/share/"


def packed_members(archive: Path) -> Generator[ArchiveMember]:
    """Yield the files of a MySQL release in an npm package, without its JavaScript."""
    with gzip.open(archive) as plain, tarfile.open(fileobj=plain, mode="r|") as tar:
        for member in tar_members(tar):
            name = _PACKED.get(member.name)
            if member.name.startswith(_PACKED_SHARE):
                name = f"share/{member.name.removeprefix(_PACKED_SHARE)}"
            if name:
                yield member._replace(name=name)
        # The checksum is verified at the end of the file, which is after its last member.
        while plain.read(CHUNK):
            pass


def tarball_members(archive: Path) -> Generator[ArchiveMember]:
    """Yield the server in a tarball of MySQL's makers, its libraries, messages and scripts."""
    for member in source_members(archive):
        path = PurePosixPath(member.name)
        libraries = path.match("lib/*.so*") or path.match("lib/private/*.so*")
        if member.name == "bin/mysqld" or libraries or path.is_relative_to("share"):
            yield member


def debian_members(folder: Path) -> Generator[ArchiveMember]:
    """Yield the server in Debian's packages of MySQL, its messages and libraries.

    Libraries lie in one folder, named after the architecture; the folders below it have plugins.
    """
    for member in deb_members(folder, ("usr/sbin/mysqld", "usr/share/mysql", "usr/lib")):
        path = PurePosixPath(member.name)
        if path.match("usr/lib/*/*.so*") or not path.is_relative_to("usr/lib"):
            yield member


def server_program(home: Path) -> Path:
    """Return the path of the server in an installed MySQL release."""
    for name in _SERVERS:
        if (program := home / name).is_file():
            return program
    raise UserError("the downloaded archive has no mysqld, so it is not a release of MySQL")


def command(home: Path) -> tuple[str, ...]:
    """Return the command that runs a MySQL server with the libraries of its packages."""
    program = server_program(home)
    return loaded(home, program) if _is_debian(home) else (str(program),)


def environment(home: Path) -> Mapping[str, str]:
    """Return the environment variables with which MySQL finds its own libraries first."""
    if _is_debian(home):
        return ENVIRONMENT
    return {**ENVIRONMENT, "LD_LIBRARY_PATH": f"{home}/lib"}


def prefix(home: Path) -> Path:
    """Return the base directory with which a MySQL server is started."""
    return home / "usr" if _is_debian(home) else home


def shared(home: Path) -> Path:
    """Return the folder with the messages, character sets and scripts of a MySQL release."""
    return prefix(home) / ("share/mysql" if _is_debian(home) else "share")


def _is_debian(home: Path) -> bool:
    return (home / "usr").is_dir()
