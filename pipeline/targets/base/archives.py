"""From a downloaded archive to a home of program files, whatever the archive's format.

A target says only how the members of its archive are read; what may be written, and where,
is decided here once.
"""

from __future__ import annotations

import gzip
import lzma
import os
import posixpath
import shutil
import stat
import subprocess
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from enum import Enum, auto
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from pipeline.errors import UserError, first_line

CHUNK = 1 << 16
"""Bytes that are read at once."""
LARGEST_INSTALL = 2 << 30
"""Bytes that a release unpacks to at most; the largest known has 370 million."""


class Kind(Enum):
    """What a member of an archive is."""

    FOLDER = auto()
    FILE = auto()
    LINK = auto()
    OTHER = auto()


class Member(NamedTuple):
    """One member of an archive.

    ``name`` is its path in the home, ``link`` where a link leads, ``program`` whether a file
    is to be run, ``size`` its bytes. ``content`` opens a file, while it is the present one.
    ``modified`` is the time that a file is given (seconds since the epoch): make knows by it
    what was made from what, and we when a release was made. None where nobody says.
    """

    name: str
    kind: Kind
    size: int = 0
    program: bool = False
    link: str = ""
    content: Callable[[], IO[bytes] | None] = lambda: None
    modified: float | None = None


class Refused(Exception):
    """The archive holds what no release holds."""


@contextmanager
def unpacked(
    archive: Path, home: Path, members: Callable[[Path], Generator[Member]]
) -> Iterator[Path]:
    """Unpack the archive, of which ``members`` gives the members, and give the folder to look at.

    Left without an error it becomes ``home``, which does not exist yet; so a home is complete
    and was looked at, or is not there. Everyone may read it and run its programs: the account
    of the servers is not ours.
    """
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{home.name}.", dir=home.parent) as beside:
        Path(beside).chmod(0o755)
        folder = Path(beside) / home.name
        folder.mkdir()
        try:
            with closing(members(archive)) as found:
                _write(found, folder)
        except (
            *(zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, gzip.BadGzipFile, EOFError),
            *(zlib.error, NotImplementedError, Refused, OverflowError),
            *(FileExistsError, NotADirectoryError, IsADirectoryError),
        ) as error:
            raise UserError(
                f"{archive} is damaged ({first_line(error)}); delete it and run again"
            ) from error
        except OSError as error:
            raise UserError(
                f"cannot unpack {archive.name} in {home.parent} ({error.strerror or error}); "
                "make room there, or set paths.cache in nightshift.toml to another folder"
            ) from error
        yield folder
        folder.rename(home)


def tar_members(tar: tarfile.TarFile) -> Generator[Member]:
    """Give the members of a tar that is read as a stream, under their own names.

    A hard link, which says where it leads from the tar's root, becomes a symbolic one.
    """
    for member in tar:
        link = member.linkname
        if member.islnk():
            link = posixpath.relpath(link, posixpath.dirname(member.name) or ".")
        yield Member(
            name=member.name,
            kind=_tar_kind(member),
            size=member.size,
            program=bool(member.mode & stat.S_IXUSR),
            link=link,
            content=partial(tar.extractfile, member),
            modified=float(member.mtime),
        )


def zip_time(info: zipfile.ZipInfo) -> float:
    """Return the time of a zip's member. It has no zone and is taken for UTC."""
    return datetime(*info.date_time, tzinfo=UTC).timestamp()


def deb_members(folder: Path, keep: Sequence[str]) -> Generator[Member]:
    """Give the members of all Debian packages in ``folder`` that lie below a folder of ``keep``.

    The folders bin, sbin, lib and lib64 are those in usr, as on every Debian of today. A link
    leads to where it would lead if the home were the root of a system.
    """
    for deb in sorted(folder.glob("*.deb")):
        with subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", str(deb)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
                for member in tar_members(tar):
                    name = _in_usr(member.name)
                    if any(PurePosixPath(name).is_relative_to(each) for each in keep):
                        yield member._replace(name=name, link=_leads(member, name))
            process.communicate()
        if process.returncode:
            raise Refused(f"{deb.name} is no whole package")


def _leads(member: Member, name: str) -> str:
    """Return where a link of a package leads, as seen from its ``name`` in the home."""
    if member.kind is not Kind.LINK:
        return ""
    to = _in_usr(posixpath.dirname(member.name), member.link)
    return posixpath.relpath(to or ".", posixpath.dirname(name))


def _in_usr(*parts: str) -> str:
    """Return the path in the home of what a package has at a path."""
    path = posixpath.normpath(posixpath.join("/", *parts)).lstrip("/")
    top = path.partition("/")[0]
    return f"usr/{path}" if top in ("bin", "sbin", "lib", "lib64") else path


def source_members(archive: Path) -> Generator[Member]:
    """Give the members of a tar of source code, without the one folder that they all are in.

    What make compares the times of is given the times of the archive.
    """
    top = _only_folder(archive)
    with tarfile.open(archive, mode="r|*") as tar:
        for member in tar_members(tar):
            path = PurePosixPath(member.name)
            if top:
                if path.parts[:1] != (top,) or len(path.parts) == 1:
                    continue
                path = PurePosixPath(*path.parts[1:])
            yield member._replace(name=str(path))


def _only_folder(archive: Path) -> str:
    """Return the name of the folder that all members are in; empty if there is none."""
    with tarfile.open(archive, mode="r|*") as tar:
        tops = {PurePosixPath(member.name).parts[0] for member in tar if member.name != "."}
    with tarfile.open(archive, mode="r|*") as tar:
        first = next(iter(tar), None)
    alone = len(tops) == 1 and first is not None and (first.isdir() or "/" in first.name)
    return tops.pop() if alone else ""


def _tar_kind(member: tarfile.TarInfo) -> Kind:
    if member.isdir():
        return Kind.FOLDER
    if member.issym() or member.islnk():
        return Kind.LINK
    return Kind.FILE if member.isreg() else Kind.OTHER


def _write(members: Iterable[Member], root: Path) -> None:
    """Write the members under ``root``: files, folders and links among them, nothing else.

    The tarfile of Python before 3.11.4 has no safe filter, so this is one. Links are made
    last, so that nothing is written through one, and must lead to a file inside.
    """
    links: list[tuple[Path, str]] = []
    size = 0
    for member in members:
        path = root / _inside(member.name)
        if member.kind is Kind.FOLDER:
            path.mkdir(parents=True, exist_ok=True)
        elif member.kind is Kind.LINK:
            links.append((path, member.link))
        elif member.kind is Kind.FILE:
            size += member.size
            if size > LARGEST_INSTALL:
                raise Refused("it unpacks to far more than a release")
            path.parent.mkdir(parents=True, exist_ok=True)
            content = member.content()
            if content is None:
                raise Refused(f"{member.name} has no content")
            with content, path.open("xb") as file:
                shutil.copyfileobj(content, file)
            path.chmod(0o755 if member.program else 0o644)
            if member.modified is not None:
                os.utime(path, (member.modified, member.modified))
        else:
            raise Refused(f"{member.name} is neither a file nor a folder nor a link")
    for path, to in links:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(to)
    inside = root.resolve()
    for path, to in links:
        if not path.resolve().is_relative_to(inside):
            raise Refused(f"its link {path.name} leads outside, to {to}")
    for folder, _, _ in os.walk(root):
        Path(folder).chmod(0o755)


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise Refused(f"its member {name} leads outside")
    return path
