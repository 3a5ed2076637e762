"""A folder of another machine, over ssh: nothing but a login is needed there.

Who may log in, by which key, and which host key is right, is told by ssh's own files; a host that
is not known is refused. No shell runs at the other end.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from pipeline.transfer.places.base import (
    CHUNK,
    Access,
    ChangedError,
    Entry,
    Listing,
    PlaceError,
    counted_in,
    part,
)
from pipeline.transfer.sftp import NO_SUCH_FILE, Attributes, Sftp, SftpError

_ADDRESS = re.compile(
    r"ssh://(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9._-]*)@)?"
    r"(?P<host>[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9a-fA-F:.]+\])(?::(?P<port>\d{1,5}))?"
    r"/(?P<path>[^\x00-\x1f\x7f]+)"
)

_OPTIONS = (
    # Nobody is there to be asked, and a host that is not known is not trusted.
    ("BatchMode", "yes"),
    ("StrictHostKeyChecking", "yes"),
    ("ConnectTimeout", "20"),
    # A line that is dead for a minute is given up.
    ("ServerAliveInterval", "15"),
    ("ServerAliveCountMax", "4"),
    ("ClearAllForwardings", "yes"),
    ("ForwardAgent", "no"),
    ("PermitLocalCommand", "no"),
    ("LogLevel", "ERROR"),
)


class SshPlace:
    """``ssh://user@host:port/path``. A path from the home folder on begins with ``/~/``."""

    def __init__(self, address: str, access: Access) -> None:
        """Connect. Raises PlaceError for an address that is none, and as every method."""
        found = _ADDRESS.fullmatch(address)
        if found is None:
            raise PlaceError(address, "is no place: write ssh://user@host:port/path")
        self.name = address.rstrip("/")
        path = found["path"].rstrip("/")
        home = path == "~" or path.startswith("~/")
        self._root = (path[2:] or ".") if home else f"/{path}"
        self._folders: set[str] = set()
        command = ["ssh", *(["-F", access.ssh_config] if access.ssh_config else [])]
        for option, value in _OPTIONS:
            command += ["-o", f"{option}={value}"]
        command += ["-l", found["user"]] if found["user"] else []
        command += ["-p", found["port"]] if found["port"] else []
        command += ["-s", "--", found["host"].strip("[]"), "sftp"]
        try:
            with self._saying("cannot be reached"):
                self._sftp = Sftp(command)
        except FileNotFoundError as error:
            raise PlaceError(
                self.name, "needs ssh, which is not installed: install openssh-client"
            ) from error

    def look(self, folder: str = "") -> Listing:
        """Return what is in a folder; nothing for one that is not there."""
        files, folders = {}, set()
        try:
            for raw, found in self._sftp.look(self._path(folder)):
                if raw in (b".", b".."):
                    continue
                name = part(self.name, raw.decode(errors="backslashreplace"))
                if found.is_folder:
                    folders.add(name)
                elif found.is_file:
                    files[name] = _entry(found)
                counted_in(self.name, folder, len(files) + len(folders))
        except SftpError as error:
            if error.code == NO_SUCH_FILE:
                return Listing({}, frozenset())
            raise self._error(error, "cannot be read") from error
        return Listing(files, frozenset(folders))

    def read(self, name: str, entry: Entry, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes of a file from ``start`` on. Raises ChangedError."""
        expected = Attributes(entry.size, int(entry.stamp), 0)
        try:
            yield from self._sftp.read(self._path(name), start, expected)
        except SftpError as error:
            if error.code == NO_SUCH_FILE:
                raise ChangedError(self.name, f"has another {name} than it listed") from error
            raise self._error(error, f"does not give {name}") from error

    def write(self, name: str, source: Path) -> None:
        """Put a file there, whole or not at all."""
        partial = self._path(f"{name}.partial")
        with self._saying(f"does not take {name}"), source.open("rb") as file:
            self._make_folders(posixpath.dirname(self._path(name).decode()))
            self._sftp.write(partial, iter(lambda: file.read(CHUNK), b""))
            self._sftp.rename(partial, self._path(name))

    def remove(self, name: str) -> None:
        """Remove a file."""
        try:
            self._sftp.remove(self._path(name))
        except SftpError as error:
            if error.code != NO_SUCH_FILE:
                raise self._error(error, f"does not remove {name}") from error

    def __enter__(self) -> Self:
        """Use the connection."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Hang up."""
        self._sftp.close()

    def _path(self, name: str) -> bytes:
        return posixpath.join(self._root, name).rstrip("/").encode()

    def _make_folders(self, folder: str) -> None:
        """Make a folder and those above it, as far as they are not there."""
        if folder in self._folders or folder in ("", "/", "."):
            return
        try:
            self._sftp.stat(folder.encode())
        except SftpError as error:
            if error.code != NO_SUCH_FILE:
                raise
            self._make_folders(posixpath.dirname(folder))
            self._sftp.make_folder(folder.encode())
        self._folders.add(folder)

    @contextmanager
    def _saying(self, what: str) -> Iterator[None]:
        try:
            yield
        except SftpError as error:
            raise self._error(error, what) from error

    def _error(self, error: SftpError, what: str) -> PlaceError:
        return PlaceError(self.name, f"{what}: {error}")


def _entry(found: Attributes) -> Entry:
    return Entry(found.size, str(found.modified))
