"""Append-only logs with one JSON object on each line, safe against crashes.

The last member of a line, ``sum``, is a checksum of the others. A line without a checksum was
written by a person or by an earlier nightshift, and is read as it is.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ValidationError

from pipeline.files.atomic_write import sync_folder
from pipeline.files.lock import LockHeldError, lock_descriptor
from pipeline.model import Frozen
from pipeline.text.errors import UserError

_LOG = logging.getLogger(__name__)

PATIENCE = 60.0
"""Seconds to wait for another process that appends to the log. An append takes milliseconds."""

_SUM = re.compile(rb',"sum":"([0-9a-f]*)"\}$')
_DIGITS = 16
"""Hexadecimal digits of a line's checksum: enough to detect damage, but not an attack."""

_Entry = TypeVar("_Entry", bound=Frozen)


class Appended(Generic[_Entry]):
    """An append-only log of entries of one type. Several processes may append at once.

    ``noun`` names an entry in error messages, for example "an event".
    """

    def __init__(self, path: Path, kind: type[_Entry], noun: str) -> None:
        self.path = path
        self._kind, self._noun = kind, noun

    def read(self) -> list[_Entry]:
        """Return all entries of the log, oldest first.

        Skips a partial line at the end, which a crash leaves. Raises UserError for an invalid line.
        """
        try:
            return self._entries(self.path.read_bytes())
        except FileNotFoundError:
            return []

    def append(self, entries: Sequence[_Entry]) -> None:
        """Append entries to the log and sync them to the disk.

        Raises UserError if another process keeps the file locked, and OSError if the file cannot be
        written; then it is unchanged.
        """
        if entries:
            self._extend(lambda _: entries)

    def extend(self, following: Callable[[list[_Entry]], Sequence[_Entry]]) -> None:
        """Append the entries that ``following`` derives from the existing ones, under a lock.

        Raises UserError as :meth:`read` and :meth:`append` do; an error of ``following`` leaves the
        file unchanged.
        """
        if following(self.read()):
            # Another process may have appended since, so derive again under the lock.
            self._extend(lambda text: following(self._entries(text)))

    def _extend(self, following: Callable[[bytes], Sequence[_Entry]]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._locked() as descriptor:
            text = _content(descriptor)
            whole = _whole(text)
            entries = following(whole)
            if not entries:
                return
            if len(whole) < len(text):
                self._set_aside(text[len(whole) :])
                os.ftruncate(descriptor, len(whole))
            between = b"\n" if whole and not whole.endswith(b"\n") else b""
            try:
                _write(descriptor, between + b"".join(map(_line, entries)))
            except OSError:
                # A part of a line would look like the work of a crash.
                os.ftruncate(descriptor, len(whole))
                raise
        if not text:
            sync_folder(self.path.parent)
        self._appended(entries)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Yield the open log, locked against other writers."""
        while True:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            descriptor = os.open(self.path, flags, 0o666)
            try:
                self._lock(descriptor)
                if os.path.samestat(os.fstat(descriptor), self.path.stat()):
                    yield descriptor
                    return
            except FileNotFoundError:
                continue
            finally:
                os.close(descriptor)

    def _lock(self, descriptor: int) -> None:
        try:
            lock_descriptor(descriptor, PATIENCE)
        except LockHeldError as error:
            raise UserError(
                f"{error} has locked {self.path} for more than {PATIENCE:g} s, but this lock is "
                "normally held only briefly; end that process, then run the same command again"
            ) from error

    def _appended(self, entries: Sequence[_Entry]) -> None:
        """Called after entries are on the disk; a subclass may write an event log."""

    def _set_aside(self, tail: bytes) -> None:
        """Move an incomplete last entry to another file, for a person to inspect."""
        aside = self.path.with_name(f"{self.path.name}.incomplete")
        with aside.open("ab") as file:
            file.write(tail + b"\n")
            file.flush()
            os.fsync(file.fileno())
        _LOG.warning("%s had an incomplete last line, which was moved to %s", self.path, aside.name)

    def _entries(self, text: bytes) -> list[_Entry]:
        whole = _whole(text)
        return [self._entry(number, line) for number, line in enumerate(whole.splitlines(), 1)]

    def _entry(self, number: int, line: bytes) -> _Entry:
        entry, written = _unsealed(line)
        if written is not None and written != _checksum(entry):
            raise UserError(
                f"{self.path}:{number}: {self._noun} has changed since it was written (its "
                'checksum differs); restore the line, or delete its "sum" if the change was '
                "intended"
            )
        try:
            parsed: _Entry = _parsed(self._kind, entry)
        except ValidationError as error:
            raise UserError(
                f"{self.path}:{number}: this release of nightshift cannot read {self._noun} in "
                "this line; upgrade nightshift, or correct the line"
            ) from error
        return parsed


@lru_cache(maxsize=4096)
def _parsed(kind: type[_Entry], entry: bytes) -> _Entry:
    """Parse an entry. The cache saves time, because a verb reads a log several times."""
    return kind.model_validate_json(entry)


def _line(entry: Frozen) -> bytes:
    """Return an entry as a line of the log, with a checksum."""
    dumped = entry.model_dump_json(exclude_defaults=True).encode()
    return dumped[:-1] + b',"sum":"' + _checksum(dumped) + b'"}\n'


def _unsealed(line: bytes) -> tuple[bytes, bytes | None]:
    """Return the entry on a line of the log, and its checksum if there is one."""
    found = _SUM.search(line)
    return (line[: found.start()] + b"}", found[1]) if found else (line, None)


def _checksum(entry: bytes) -> bytes:
    return hashlib.sha256(entry).hexdigest()[:_DIGITS].encode()


def _content(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def _write(descriptor: int, lines: bytes) -> None:
    """Append lines to the log and sync it to the disk."""
    left = memoryview(lines)
    while left:
        left = left[os.write(descriptor, left) :]
    os.fsync(descriptor)


def _whole(text: bytes) -> bytes:
    """Return the text of the log without an incomplete last line, which a crash can leave.

    A complete last line may lack its newline, which some editors omit.
    """
    end = text.rfind(b"\n") + 1
    try:
        json.loads(text[end:])
    except ValueError:
        return text[:end]
    except RecursionError:
        # Complete and nested too deep: reading it says so.
        return text
    return text
