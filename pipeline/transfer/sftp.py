"""The file transfer protocol of SSH, as far as it is needed: files are listed, read and written.

Version 3, which every server speaks (draft-ietf-secsh-filexfer-02); numbers in comments are its
sections. The system's ``ssh`` makes the connection and asks for the subsystem, so that no shell
is at the other end: a name is bytes with a length, never a word of a command.
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
"""What a file is opened for (6.3): writing makes it, or empties it."""

_BLOCK = 32768
"""Bytes of one request: all servers take these (3)."""

_AHEAD = 64
"""Requests under way at once: 2 MB, which fill a line of 1 Gbit/s over 16 ms."""

_LONGEST = 1 << 20
"""Bytes of an answer; a server of OpenSSH sends a quarter of that at most."""

_RENAME = b"posix-rename@openssh.com"
_SYNC = b"fsync@openssh.com"


class SftpError(Exception):
    """What went wrong, in words; ``code`` is the server's, or -1 where the line is broken."""

    def __init__(self, message: str, code: int = -1) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Attributes:
    """What a server says of a file: its bytes, when it was written (seconds), and what it is."""

    size: int
    modified: int
    mode: int

    @property
    def is_file(self) -> bool:
        """Say whether it is a plain file, and no link."""
        return stat.S_ISREG(self.mode)

    @property
    def is_folder(self) -> bool:
        """Say whether it is a folder."""
        return stat.S_ISDIR(self.mode)


class Sftp:
    """A connection by a command that ends in the subsystem, until it is closed.

    A server that says nothing for ``patience`` seconds is given up. Every method raises SftpError.
    """

    def __init__(self, command: Sequence[str], patience: float = 120.0) -> None:
        """Connect."""
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
            self._hang_up()
            raise
        finally:
            os.close(theirs)
            os.close(ours)
        try:
            self._put(bytes([_INIT]) + struct.pack(">I", 3))
            kind, body = self._packet()
            if kind != _VERSION:
                raise SftpError("does not speak SFTP")
            self._extensions = _extensions(body)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Hang up."""
        self._hang_up()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _hang_up(self) -> None:
        os.close(self._to)
        os.close(self._from)
        self._said.close()

    def look(self, folder: bytes) -> Iterator[tuple[bytes, Attributes]]:
        """Yield names in a folder and what is said of each; links are links (6.7)."""
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
        """Return what a file is; a link is a link."""
        kind, body = self._ask(_LSTAT, _text(path))
        if kind != _ATTRS:
            raise _refusal(kind, body)
        return body.attributes()

    def read(self, path: bytes, start: int, expected: Attributes) -> Iterator[bytes]:
        """Yield a file from ``start`` on.

        Raises SftpError with the code NO_SUCH_FILE for one that is not as ``expected``.
        """
        handle = self._handle(_OPEN, _text(path) + struct.pack(">II", _TO_READ, 0))
        try:
            kind, body = self._ask(_FSTAT, _text(handle))
            now = body.attributes() if kind == _ATTRS else None
            if now is None or (now.size, now.modified) != (expected.size, expected.modified):
                raise SftpError("it is another now", NO_SUCH_FILE)
            yield from self._blocks(handle, start, expected.size)
        finally:
            self._leave(handle)

    def write(self, path: bytes, blocks: Iterator[bytes]) -> None:
        """Write a file, on the disk there when this returns where the server can say so."""
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
        """Give a file another name, in place of what had it."""
        if _RENAME not in self._extensions:
            raise SftpError("its server cannot put a file in place of another (posix-rename)")
        self._done(self._send(_EXTENDED, _text(_RENAME) + _text(old) + _text(new)))

    def remove(self, path: bytes) -> None:
        """Remove a file."""
        self._done(self._send(_REMOVE, _text(path)))

    def make_folder(self, path: bytes) -> None:
        """Make a folder."""
        self._done(self._send(_MKDIR, _text(path) + struct.pack(">I", 0)))

    def _blocks(self, handle: bytes, start: int, size: int) -> Iterator[bytes]:
        """Yield blocks in their order, many of them asked for ahead."""
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
            # A server may give less than it was asked for: the rest is what comes next.
            while len(data) < wanted:
                begin, wanted = begin + len(data), wanted - len(data)
                data = self._data(self._ask_for(handle, begin, wanted))
                yield data

    def _ask_for(self, handle: bytes, at: int, size: int) -> int:
        return self._send(_READ, _text(handle) + struct.pack(">QI", at, size))

    def _data(self, number: int) -> bytes:
        kind, body = self._answer(number)
        if _ended(kind, body):
            raise SftpError("it is shorter now", NO_SUCH_FILE)
        if kind != _DATA:
            raise _refusal(kind, body)
        data = body.text()
        if not data:
            raise SftpError("its server gives nothing")
        return data

    def _handle(self, kind: int, request: bytes) -> bytes:
        answered, body = self._ask(kind, request)
        if answered != _HANDLE:
            raise _refusal(answered, body)
        return body.text()

    def _leave(self, handle: bytes) -> None:
        """Close a handle after whatever went wrong; what is still under way is passed over."""
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
        """Return the answer to a request; others that come before it are kept."""
        while number not in self._early:
            kind, body = self._packet()
            answered = body.number()
            if answered not in self._awaited:
                raise SftpError("answers what was not asked")
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
        """Return the next answer: its kind, and the rest of it."""
        while (size := self._whole()) is None:
            self._more()
        packet = bytes(self._buffer[4 : 4 + size])
        del self._buffer[: 4 + size]
        return packet[0], _Body(packet[1:])

    def _whole(self) -> int | None:
        """Return the size of the answer in the buffer, once all of it is there."""
        if len(self._buffer) < 4:
            return None
        size = int.from_bytes(self._buffer[:4], "big")
        if not 1 <= size <= _LONGEST:
            raise SftpError("does not speak SFTP")
        return size if len(self._buffer) >= 4 + size else None

    def _more(self) -> None:
        readable, _, _ = select.select([self._from], [], [], self._patience)
        if not readable:
            waited, self._patience = self._patience, 0.0  # It is not waited for again.
            raise SftpError(f"it says nothing for {waited:.0f} s")
        data = os.read(self._from, 1 << 18)
        if not data:
            raise self._broken()
        self._buffer += data

    def _broken(self) -> SftpError:
        """Return what ssh says of a line that broke: its last line."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        self._said.seek(0)
        lines = self._said.read(1 << 16).decode(errors="replace").strip().splitlines()
        return SftpError(lines[-1].strip() if lines else "the connection broke")


class _Body:
    """The rest of an answer, read from its beginning on. Raises SftpError where it is too short."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def status(self) -> int:
        """The code of a status, which stays to be read."""
        return int.from_bytes(self._data[self._at : self._at + 4], "big")

    def number(self, size: int = 4) -> int:
        return int.from_bytes(self._take(size), "big")

    def text(self) -> bytes:
        return self._take(self.number())

    def attributes(self) -> Attributes:
        """Read attributes (5): each is there if its flag is."""
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
            raise SftpError("does not speak SFTP")
        self._at += size
        return taken


def _text(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _extensions(body: _Body) -> frozenset[bytes]:
    """Return the names of what a server can do besides (4.2)."""
    body.number()
    names = []
    while body.left:
        names.append(body.text())
        body.text()
    return frozenset(names)


def _ended(kind: int, body: _Body) -> bool:
    return kind == _STATUS and body.status == _EOF


def _refusal(kind: int, body: _Body) -> SftpError:
    """Return what a server says of a request that it does not carry out (7)."""
    if kind != _STATUS:
        return SftpError("answers what was not asked")
    code = body.number()
    told = body.text().decode(errors="replace") if body.left else f"code {code}"
    return SftpError(told, code)
