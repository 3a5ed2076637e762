"""From a downloaded archive to program files that run: the install step of Postgres."""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import shutil
import stat
import subprocess
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from pipeline.errors import UserError, first_line
from pipeline.machine.account import Account

PROGRAM_FOLDERS = ("bin", "lib")
"""The folders whose files make a build what it is."""
CHUNK = 1 << 16
LARGEST_INSTALL = 2 << 30
"""Bytes that a release unpacks to at most; the largest known has 70 million."""


@contextmanager
def unpacked(archive: Path, home: Path) -> Iterator[Path]:
    """Unpack the archive, a jar around one .txz, and give the folder to look at.

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
            with (
                zipfile.ZipFile(archive) as jar,
                jar.open(_inner(jar)) as inner,
                lzma.open(inner) as plain,
                tarfile.open(fileobj=plain, mode="r|") as tar,
            ):
                _extract(tar, folder)
                # Both checksums are looked at where a file ends, not where its last member does.
                for stream in (plain, inner):
                    while stream.read(CHUNK):
                        pass
        except (
            *(zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, EOFError),
            *(zlib.error, NotImplementedError, _Refused),
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


class _Refused(Exception):
    """The archive holds what no release holds."""


def _inner(jar: zipfile.ZipFile) -> str:
    names = [name for name in jar.namelist() if name.endswith(".txz")]
    if len(names) != 1:
        raise _Refused(f"it holds {len(names)} .txz files, not one")
    return names[0]


def _extract(tar: tarfile.TarFile, root: Path) -> None:
    """Write the members under ``root``: files, folders and links among them, nothing else.

    The tarfile of Python before 3.11.4 has no safe filter, so this is one. Links are made
    last, so that nothing is written through one, and must lead to a file inside.
    """
    links: list[tuple[Path, str]] = []
    size = 0
    for member in tar:
        path = root / _inside(member.name)
        if member.isdir():
            path.mkdir(parents=True, exist_ok=True)
        elif member.issym():
            links.append((path, member.linkname))
        elif member.isreg():
            size += member.size
            if size > LARGEST_INSTALL:
                raise _Refused("it unpacks to far more than a release")
            path.parent.mkdir(parents=True, exist_ok=True)
            content = tar.extractfile(member)
            if content is None:
                raise _Refused(f"{member.name} has no content")
            with path.open("xb") as file:
                shutil.copyfileobj(content, file)
            path.chmod(0o755 if member.mode & stat.S_IXUSR else 0o644)
        else:
            raise _Refused(f"{member.name} is neither a file nor a folder nor a link")
    for path, to in links:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(to)
    inside = root.resolve()
    for path, to in links:
        if not path.resolve().is_relative_to(inside):
            raise _Refused(f"its link {path.name} leads outside, to {to}")
    for folder, _, _ in os.walk(root):
        Path(folder).chmod(0o755)


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise _Refused(f"its member {name} leads outside")
    return path


def program_hash(home: Path) -> str:
    """Return the SHA-256 over paths and contents of the program files, in path order."""
    total = hashlib.sha256()
    for folder in PROGRAM_FOLDERS:
        for path in sorted((home / folder).rglob("*")):
            if path.is_symlink():
                content = f"-> {path.readlink()}"
            elif path.is_file():
                with path.open("rb") as file:
                    content = hashlib.file_digest(file, "sha256").hexdigest()
            else:
                continue
            total.update(f"{path.relative_to(home).as_posix()}\0{content}\n".encode())
    return total.hexdigest()


def reported_version(home: Path, account: Account) -> str:
    """Return what the program calls itself, as ``postgres (PostgreSQL) 17.11``."""
    program = home / "bin/postgres"
    if not program.exists():
        raise UserError("the archive holds no bin/postgres, so it is no release of Postgres")
    account.check_reach(home)
    answer = subprocess.run(
        account.command(str(program), "--version"),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if answer.returncode:
        raise UserError(why_not(program, answer.returncode, answer.stderr))
    return answer.stdout.strip()


def why_not(program: Path, code: int, complaint: str) -> str:
    """Return one line for a program that did not start, from what the loader said."""
    if found := re.search(r"loading shared libraries: (\S+?):", complaint):
        return (
            f"{program.name} needs the library {found.group(1)}, which this machine lacks; install "
            "the package that holds it and run again"
        )
    if found := re.search(r"version `(\S+?)' not found", complaint):
        return (
            f"{program.name} needs {found.group(1)}, newer than this machine's; leave that release "
            "out or use a newer system"
        )
    reason = first_line(Exception(complaint)) if complaint.strip() else f"exit code {code}"
    return f"{program.name} does not run here ({reason}); leave that release out"
