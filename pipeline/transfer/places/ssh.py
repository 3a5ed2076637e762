"""A folder of another machine as a place for transfers, over ssh.

The configuration files of ssh define the user, the key and the known host keys; an unknown host is
refused. No shell runs on the other machine.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.transfer.places.base import (
    CHUNK,
    Access,
    ChangedError,
    FileEntry,
    Listing,
    Place,
    PlaceError,
    check_file_count,
    part,
)
from pipeline.transfer.sftp import NO_SUCH_FILE, Attributes, Sftp, SftpError

_ADDRESS = re.compile(
    r"ssh://(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9._-]*)@)?"
    r"(?P<host>[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9a-fA-F:.]+\])(?::(?P<port>\d{1,5}))?"
    r"/(?P<path>[^\x00-\x1f\x7f]+)"
)

_OPTIONS = (
    # Nobody can answer a prompt, and an unknown host is not trusted.
    ("BatchMode", "yes"),
    ("StrictHostKeyChecking", "yes"),
    ("ConnectTimeout", "20"),
    # A connection that is dead for a minute is closed.
    ("ServerAliveInterval", "15"),
    ("ServerAliveCountMax", "4"),
    ("ClearAllForwardings", "yes"),
    ("ForwardAgent", "no"),
    ("PermitLocalCommand", "no"),
    ("LogLevel", "ERROR"),
)


class SshPlace(Place):
    """A folder over ssh, ``ssh://user@host:port/path``; ``/~/`` is the home folder."""

    def __init__(self, address: str, access: Access) -> None:
        """Connect to the machine. Raises PlaceError if that fails."""
        found = _ADDRESS.fullmatch(address)
        if found is None:
            raise PlaceError(address, "is not a valid place: write ssh://user@host:port/path")
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
            with self._place_errors("cannot be reached"):
                self._sftp = Sftp(command)
        except FileNotFoundError as error:
            raise PlaceError(
                self.name, "needs ssh, which is not installed: install openssh-client"
            ) from error

    def look(self, folder: str = "") -> Listing:
        """Return the content of a folder; empty if it does not exist."""
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
                check_file_count(self.name, folder, len(files) + len(folders))
        except SftpError as error:
            if error.code == NO_SUCH_FILE:
                return Listing({}, frozenset())
            raise self._error(error, "cannot be read") from error
        return Listing(files, frozenset(folders))

    def read(self, name: str, entry: FileEntry, start: int = 0) -> Iterator[bytes]:
        """Yield the bytes of a file from ``start`` on. Raises ChangedError if the file changed."""
        expected = Attributes(entry.size, int(entry.stamp), 0)
        try:
            yield from self._sftp.read(self._path(name), start, expected)
        except SftpError as error:
            if error.code == NO_SUCH_FILE:
                raise ChangedError(
                    self.name, f"has a {name} that changed after it was listed"
                ) from error
            raise self._error(error, f"cannot read {name}") from error

    def write(self, name: str, source: Path) -> None:
        """Write a file atomically: it appears complete or not at all."""
        partial = self._path(f"{name}.partial")
        with self._place_errors(f"cannot write {name}"), source.open("rb") as file:
            self._make_folders(posixpath.dirname(self._path(name).decode()))
            self._sftp.write(partial, iter(lambda: file.read(CHUNK), b""))
            self._sftp.rename(partial, self._path(name))

    def remove(self, name: str) -> None:
        """Remove a file."""
        try:
            self._sftp.remove(self._path(name))
        except SftpError as error:
            if error.code != NO_SUCH_FILE:
                raise self._error(error, f"cannot delete {name}") from error

    def close(self) -> None:
        """Close the ssh connection."""
        self._sftp.close()

    def _path(self, name: str) -> bytes:
        return posixpath.join(self._root, name).rstrip("/").encode()

    def _make_folders(self, folder: str) -> None:
        """Create a folder and its missing parents."""
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
    def _place_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except SftpError as error:
            raise self._error(error, what) from error

    def _error(self, error: SftpError, what: str) -> PlaceError:
        return PlaceError(self.name, f"{what}: {error}")


def _entry(found: Attributes) -> FileEntry:
    return FileEntry(found.size, str(found.modified))
