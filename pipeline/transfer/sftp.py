"""A small client of SFTP (file transfer over ssh): list, read and write files.

It implements version 3, which every server supports (draft-ietf-secsh-filexfer-02); numbers in
comments are its sections. The system's ``ssh`` connects and requests the SFTP subsystem, so no
shell runs on the other machine: a file name is sent as bytes with a length, never as a word of a
command.
"""

from __future__ import annotations

import os
import select
import stat
import struct
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

_INIT, _VERSION, _OPEN, _CLOSE, _READ, _WRITE, _LSTAT, _FSTAT = 1, 2, 3, 4, 5, 6, 7, 8
_OPENDIR, _READDIR, _REMOVE, _MKDIR, _EXTENDED = 11, 12, 13, 14, 200
_STATUS, _HANDLE, _DATA, _NAME, _ATTRS = 101, 102, 103, 104, 105

_OK, _EOF, NO_SUCH_FILE = 0, 1, 2
_TO_READ, _TO_WRITE = 0x01, 0x02 | 0x08 | 0x10
"""Modes of opening a file (6.3): writing creates or truncates it."""

_BLOCK = 32768
"""Bytes per request: all servers accept this size (3)."""

_AHEAD = 64
"""Number of concurrent requests: their 2 MB saturate a line of 1 Gbit/s with a latency of 16 ms."""

_LONGEST = 1 << 20
"""Maximum bytes of a response; an OpenSSH server sends at most a quarter of that."""

_RENAME = b"posix-rename@openssh.com"
_SYNC = b"fsync@openssh.com"


class SftpError(Exception):
    """An SFTP request failed; ``code`` is the server's, or -1 for a broken connection."""

    def __init__(self, message: str, code: int = -1) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Attributes:
    """What an SFTP server says of a file: size, time and type."""

    size: int
    modified: int
    mode: int

    @property
    def is_file(self) -> bool:
        """Whether the entry is a regular file."""
        return stat.S_ISREG(self.mode)

    @property
    def is_folder(self) -> bool:
        """Whether the entry is a folder."""
        return stat.S_ISDIR(self.mode)


class Sftp:
    """An SFTP connection through a command such as ssh.

    The connection fails if the server sends nothing for ``patience`` seconds. Every method may
    raise SftpError.
    """

    def __init__(self, command: Sequence[str], patience: float = 120.0) -> None:
        """Start the command and connect."""
        self._patience = patience
        self._numbers = 0
        self._awaited: set[int] = set()
        self._early: dict[int, tuple[int, _Body]] = {}
        self._buffer = bytearray()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the connection)
        theirs, self._to = os.pipe()
        self._from, ours = os.pipe()
        try:
            self._process = subprocess.Popen(command, stdin=theirs, stdout=ours, stderr=self._said)
        except BaseException:
            self._close_pipes()
            raise
        finally:
            os.close(theirs)
            os.close(ours)
        try:
            self._put(bytes([_INIT]) + struct.pack(">I", 3))
            kind, body = self._packet()
            if kind != _VERSION:
                raise SftpError("does not support SFTP")
            self._extensions = _extensions(body)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the SFTP connection."""
        self._close_pipes()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _close_pipes(self) -> None:
        os.close(self._to)
        os.close(self._from)
        self._said.close()

    def look(self, folder: bytes) -> Iterator[tuple[bytes, Attributes]]:
        """Yield the entries of a folder: names and attributes."""
        handle = self._handle(_OPENDIR, _text(folder))
        try:
            while True:
                kind, body = self._ask(_READDIR, _text(handle))
                if _ended(kind, body):
                    return
                if kind != _NAME:
                    raise _refusal(kind, body)
                for _ in range(body.number()):
                    name = body.text()
                    body.text()  # A line for people.
                    yield name, body.attributes()
        finally:
            self._leave(handle)

    def stat(self, path: bytes) -> Attributes:
        """Return the attributes of a file."""
        kind, body = self._ask(_LSTAT, _text(path))
        if kind != _ATTRS:
            raise _refusal(kind, body)
        return body.attributes()

    def read(self, path: bytes, start: int, expected: Attributes) -> Iterator[bytes]:
        """Yield the content of a file from ``start`` on.

        Raises SftpError with the code NO_SUCH_FILE if the file's attributes are not as
        ``expected``.
        """
        handle = self._handle(_OPEN, _text(path) + struct.pack(">II", _TO_READ, 0))
        try:
            kind, body = self._ask(_FSTAT, _text(handle))
            now = body.attributes() if kind == _ATTRS else None
            if now is None or (now.size, now.modified) != (expected.size, expected.modified):
                raise SftpError("the file was replaced", NO_SUCH_FILE)
            yield from self._blocks(handle, start, expected.size)
        finally:
            self._leave(handle)

    def write(self, path: bytes, blocks: Iterator[bytes]) -> None:
        """Write a file, and sync it to the other machine's disk if possible."""
        handle = self._handle(_OPEN, _text(path) + struct.pack(">III", _TO_WRITE, 0, 0))
        try:
            at = 0
            under_way: deque[int] = deque()
            for block in blocks:
                for begin in range(0, len(block), _BLOCK):
                    data = block[begin : begin + _BLOCK]
                    where = _text(handle) + struct.pack(">Q", at)
                    under_way.append(self._send(_WRITE, where + _text(data)))
                    at += len(data)
                    if len(under_way) >= _AHEAD:
                        self._done(under_way.popleft())
            while under_way:
                self._done(under_way.popleft())
            if _SYNC in self._extensions:
                self._done(self._send(_EXTENDED, _text(_SYNC) + _text(handle)))
        except BaseException:
            self._leave(handle)
            raise
        self._done(self._send(_CLOSE, _text(handle)))

    def rename(self, old: bytes, new: bytes) -> None:
        """Rename a file; an existing file with the new name is replaced."""
        if _RENAME not in self._extensions:
            raise SftpError("its server cannot replace a file (it lacks posix-rename)")
        self._done(self._send(_EXTENDED, _text(_RENAME) + _text(old) + _text(new)))

    def remove(self, path: bytes) -> None:
        """Remove a file."""
        self._done(self._send(_REMOVE, _text(path)))

    def make_folder(self, path: bytes) -> None:
        """Create a folder."""
        self._done(self._send(_MKDIR, _text(path) + struct.pack(">I", 0)))

    def _blocks(self, handle: bytes, start: int, size: int) -> Iterator[bytes]:
        """Yield the blocks of a file in order, while many requests are in flight."""
        under_way: deque[tuple[int, int, int]] = deque()
        at = start
        while at < size or under_way:
            while at < size and len(under_way) < _AHEAD:
                wanted = min(_BLOCK, size - at)
                under_way.append((self._ask_for(handle, at, wanted), at, wanted))
                at += wanted
            number, begin, wanted = under_way.popleft()
            data = self._data(number)
            yield data
            # A server may return less than requested: the rest follows next.
            while len(data) < wanted:
                begin, wanted = begin + len(data), wanted - len(data)
                data = self._data(self._ask_for(handle, begin, wanted))
                yield data

    def _ask_for(self, handle: bytes, at: int, size: int) -> int:
        return self._send(_READ, _text(handle) + struct.pack(">QI", at, size))

    def _data(self, number: int) -> bytes:
        kind, body = self._answer(number)
        if _ended(kind, body):
            raise SftpError("the file became shorter", NO_SUCH_FILE)
        if kind != _DATA:
            raise _refusal(kind, body)
        data = body.text()
        if not data:
            raise SftpError("its server sends no data")
        return data

    def _handle(self, kind: int, request: bytes) -> bytes:
        answered, body = self._ask(kind, request)
        if answered != _HANDLE:
            raise _refusal(answered, body)
        return body.text()

    def _leave(self, handle: bytes) -> None:
        """Close an open file on the server after an error."""
        with suppress(SftpError):
            for number in sorted(self._awaited):
                self._answer(number)
            self._ask(_CLOSE, _text(handle))

    def _done(self, number: int) -> None:
        kind, body = self._answer(number)
        if kind != _STATUS or body.status != _OK:
            raise _refusal(kind, body)

    def _ask(self, kind: int, request: bytes) -> tuple[int, _Body]:
        return self._answer(self._send(kind, request))

    def _send(self, kind: int, request: bytes) -> int:
        self._numbers = (self._numbers + 1) % (1 << 32)
        self._put(bytes([kind]) + struct.pack(">I", self._numbers) + request)
        self._awaited.add(self._numbers)
        return self._numbers

    def _answer(self, number: int) -> tuple[int, _Body]:
        """Return the server's answer to a request; store answers to other requests for later."""
        while number not in self._early:
            kind, body = self._packet()
            answered = body.number()
            if answered not in self._awaited:
                raise SftpError("sent an unexpected answer")
            self._awaited.remove(answered)
            self._early[answered] = (kind, body)
        return self._early.pop(number)

    def _put(self, packet: bytes) -> None:
        waiting = memoryview(struct.pack(">I", len(packet)) + packet)
        try:
            while waiting:
                waiting = waiting[os.write(self._to, waiting) :]
        except OSError as error:
            raise self._broken() from error

    def _packet(self) -> tuple[int, _Body]:
        """Return the next answer of the server: its kind and content."""
        while (size := self._whole()) is None:
            self._more()
        packet = bytes(self._buffer[4 : 4 + size])
        del self._buffer[: 4 + size]
        return packet[0], _Body(packet[1:])

    def _whole(self) -> int | None:
        """Return the length of the next answer in bytes; None if it has not arrived completely."""
        if len(self._buffer) < 4:
            return None
        size = int.from_bytes(self._buffer[:4], "big")
        if not 1 <= size <= _LONGEST:
            raise SftpError("does not support SFTP")
        return size if len(self._buffer) >= 4 + size else None

    def _more(self) -> None:
        readable, _, _ = select.select([self._from], [], [], self._patience)
        if not readable:
            waited, self._patience = self._patience, 0.0  # Later calls do not wait again.
            raise SftpError(f"no answer for {waited:.0f} s")
        data = os.read(self._from, 1 << 18)
        if not data:
            raise self._broken()
        self._buffer += data

    def _broken(self) -> SftpError:
        """Return the error for a broken connection, with ssh's last line as the reason."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        self._said.seek(0)
        lines = self._said.read(1 << 16).decode(errors="replace").strip().splitlines()
        return SftpError(lines[-1].strip() if lines else "the connection was lost")


class _Body:
    """Reads the content of an answer. Raises SftpError if it is too short."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def status(self) -> int:
        """The status code in an answer."""
        return int.from_bytes(self._data[self._at : self._at + 4], "big")

    def number(self, size: int = 4) -> int:
        return int.from_bytes(self._take(size), "big")

    def text(self) -> bytes:
        return self._take(self.number())

    def attributes(self) -> Attributes:
        """Read the attributes of a file in an answer."""
        flags = self.number()
        size = self.number(8) if flags & 0x1 else 0
        if flags & 0x2:
            self._take(8)
        mode = self.number() if flags & 0x4 else 0
        modified = (self.number(), self.number())[1] if flags & 0x8 else 0
        for _ in range(self.number() if flags & 0x80000000 else 0):
            self.text()
            self.text()
        return Attributes(size, modified, mode)

    @property
    def left(self) -> bool:
        return self._at < len(self._data)

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise SftpError("does not support SFTP")
        self._at += size
        return taken


def _text(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _extensions(body: _Body) -> frozenset[bytes]:
    """Return the extensions of SFTP that the server supports."""
    body.number()
    names = []
    while body.left:
        names.append(body.text())
        body.text()
    return frozenset(names)


def _ended(kind: int, body: _Body) -> bool:
    return kind == _STATUS and body.status == _EOF


def _refusal(kind: int, body: _Body) -> SftpError:
    """Return the error in a server's answer."""
    if kind != _STATUS:
        return SftpError("sent an unexpected answer")
    code = body.number()
    reported = body.text().decode(errors="replace") if body.left else f"code {code}"
    return SftpError(reported, code)
