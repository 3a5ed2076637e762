"""Unpack downloaded archives of any format into the folders of builds.

A target only reads the members of its archive. This module decides which files may be written, and
where.
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

from pipeline.text.errors import UserError, first_line

CHUNK = 1 << 16
"""Maximum number of bytes to read in one call."""
LARGEST_INSTALL = 2 << 30
"""Maximum size of an unpacked release in bytes; the largest known has 370 million."""


class MemberKind(Enum):
    """What an archive's member is: a file, a folder or a link."""

    FOLDER = auto()
    FILE = auto()
    LINK = auto()
    OTHER = auto()


class ArchiveMember(NamedTuple):
    """One file, folder or link in an archive.

    ``name`` is its path in the folder of the build, ``link`` the destination of a link, ``program``
    whether a file is executable, ``size`` its bytes. ``content`` opens a file while it is the
    current member. ``modified`` is the file's time (s since 1970), or None if the archive has none.
    make compares these times to decide what to rebuild, and nightshift derives the time of a
    release from them.
    """

    name: str
    kind: MemberKind
    size: int = 0
    program: bool = False
    link: str = ""
    content: Callable[[], IO[bytes] | None] = lambda: None
    modified: float | None = None


class Refused(Exception):
    """An archive has a member that does not belong in a release, so nothing is unpacked."""


@contextmanager
def unpacked(
    archive: Path, home: Path, members: Callable[[Path], Generator[ArchiveMember]]
) -> Iterator[Path]:
    """Unpack an archive, and yield the temporary folder for the caller to inspect.

    If the block ends without an error, the temporary folder is renamed to ``home``, the folder of
    the build, which must not exist yet. ``home`` is therefore complete and inspected, or absent.
    All users may read it and run its programs, because servers run as another user.
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
                "free some space there, or set paths.cache in nightshift.toml to another folder"
            ) from error
        yield folder
        folder.rename(home)


def tar_members(tar: tarfile.TarFile) -> Generator[ArchiveMember]:
    """Yield the members of a tar archive while it is read, with their own names.

    Hard links, whose targets are relative to the root of the archive, become symbolic links.
    """
    for member in tar:
        link = member.linkname
        if member.islnk():
            link = posixpath.relpath(link, posixpath.dirname(member.name) or ".")
        yield ArchiveMember(
            name=member.name,
            kind=_tar_kind(member),
            size=member.size,
            program=bool(member.mode & stat.S_IXUSR),
            link=link,
            content=partial(tar.extractfile, member),
            modified=float(member.mtime),
        )


def zip_time(info: zipfile.ZipInfo) -> float:
    """Return the time of a file in a zip archive, which has no time zone: UTC is assumed."""
    return datetime(*info.date_time, tzinfo=UTC).timestamp()


def deb_members(folder: Path, keep: Sequence[str]) -> Generator[ArchiveMember]:
    """Yield the files of all Debian packages in a folder that lie below a folder of ``keep``.

    Files in bin, sbin, lib and lib64 go to the folders of the same name in usr, as on every current
    Debian. A link leads to the same file, with the folder of the build as root of the file system.
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
                        yield member._replace(name=name, link=_link_destination(member, name))
            process.communicate()
        if process.returncode:
            raise Refused(f"{deb.name} is not a complete package")


def _link_destination(member: ArchiveMember, name: str) -> str:
    """Return where a link in a Debian package leads, relative to the link itself."""
    if member.kind is not MemberKind.LINK:
        return ""
    to = _in_usr(posixpath.dirname(member.name), member.link)
    return posixpath.relpath(to or ".", posixpath.dirname(name))


def _in_usr(*parts: str) -> str:
    """Return the path that a file of a Debian package gets in the folder of the build."""
    path = posixpath.normpath(posixpath.join("/", *parts)).lstrip("/")
    top = path.partition("/")[0]
    return f"usr/{path}" if top in ("bin", "sbin", "lib", "lib64") else path


def source_members(archive: Path) -> Generator[ArchiveMember]:
    """Yield the files of a tar of source code, without their common top folder.

    Files keep the times of the archive, because make compares them.
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
    """Return the top folder that all members of an archive have in common; else ""."""
    with tarfile.open(archive, mode="r|*") as tar:
        tops = {PurePosixPath(member.name).parts[0] for member in tar if member.name != "."}
    with tarfile.open(archive, mode="r|*") as tar:
        first = next(iter(tar), None)
    alone = len(tops) == 1 and first is not None and (first.isdir() or "/" in first.name)
    return tops.pop() if alone else ""


def _tar_kind(member: tarfile.TarInfo) -> MemberKind:
    if member.isdir():
        return MemberKind.FOLDER
    if member.issym() or member.islnk():
        return MemberKind.LINK
    return MemberKind.FILE if member.isreg() else MemberKind.OTHER


def _write(members: Iterable[ArchiveMember], root: Path) -> None:
    """Write files, folders and links of an archive below ``root``; refuse links that leave it.

    The tarfile of Python before 3.11.4 has no safe filter. Links are created last, so that nothing
    is written through one, and must lead to a file inside.
    """
    links: list[tuple[Path, str]] = []
    size = 0
    for member in members:
        path = root / _inside(member.name)
        if member.kind is MemberKind.FOLDER:
            path.mkdir(parents=True, exist_ok=True)
        elif member.kind is MemberKind.LINK:
            links.append((path, member.link))
        elif member.kind is MemberKind.FILE:
            size += member.size
            if size > LARGEST_INSTALL:
                raise Refused("it unpacks to far more data than a release has")
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
            raise Refused(f"its link {path.name} points outside of the archive, to {to}")
    for folder, _, _ in os.walk(root):
        Path(folder).chmod(0o755)


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise Refused(f"its member {name} lies outside of the archive")
    return path
