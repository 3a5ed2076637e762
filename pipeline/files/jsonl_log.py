"""Append-only files with one JSON object a line; no line is lost or partial."""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ValidationError

from pipeline.model import Frozen
from pipeline.text.errors import UserError

_LOG = logging.getLogger(__name__)

_Entry = TypeVar("_Entry", bound=Frozen)


class Appended(Generic[_Entry]):
    """An append-only file of entries of one kind. Several processes may append at once.

    ``noun`` names an entry in error messages, as "an event".
    """

    def __init__(self, path: Path, kind: type[_Entry], noun: str) -> None:
        self.path = path
        self._kind, self._noun = kind, noun

    def read(self) -> list[_Entry]:
        """Return all entries, in order.

        Skips a partial line at the end, which a crash leaves. Raises UserError for an invalid line.
        """
        try:
            return self._entries(self.path.read_bytes())
        except FileNotFoundError:
            return []

    def append(self, entries: Sequence[_Entry]) -> None:
        """Append entries and sync them to the disk."""
        if entries:
            self._extend(lambda _: entries)

    def extend(self, following: Callable[[list[_Entry]], Sequence[_Entry]]) -> None:
        """Append the entries that ``following`` derives from all entries, under the lock.

        Raises UserError as :meth:`read`; an error of ``following`` leaves the file unchanged.
        """
        if following(self.read()):
            # Another process may have appended since, so derive again under the lock.
            self._extend(lambda text: following(self._entries(text)))

    def _extend(self, following: Callable[[bytes], Sequence[_Entry]]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            text = os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)
            whole = _whole(text)
            entries = following(whole)
            if len(whole) < len(text):
                self._set_aside(text[len(whole) :])
                os.ftruncate(file.fileno(), len(whole))
            between = "\n" if whole and not whole.endswith(b"\n") else ""
            dumped = (entry.model_dump_json(exclude_defaults=True) for entry in entries)
            file.write((between + "".join(f"{line}\n" for line in dumped)).encode())
            file.flush()
            os.fsync(file.fileno())
        self._appended(entries)

    def _appended(self, entries: Sequence[_Entry]) -> None:
        """Hook after entries are synced to the disk; a subclass may log them."""

    def _set_aside(self, tail: bytes) -> None:
        """Move an incomplete entry to a file beside, for a person to inspect."""
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
        try:
            return self._kind.model_validate_json(line)
        except ValidationError as error:
            raise UserError(
                f"{self.path}:{number}: this release of nightshift cannot read {self._noun} in "
                "this line; upgrade nightshift, or correct the line"
            ) from error


def _whole(text: bytes) -> bytes:
    """Return a file's text without an incomplete entry at its end, which a crash leaves.

    A complete one may lack its newline, which some editors omit.
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
