"""Files that are only ever appended to: one JSON object a line, and no line is lost or half."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ValidationError

from pipeline.errors import UserError
from pipeline.model import Frozen

_Entry = TypeVar("_Entry", bound=Frozen)


class Appended(Generic[_Entry]):
    """A file of entries of one kind. Several processes may append at once.

    ``noun`` is what an entry is called where a line is none, as "an event".
    """

    def __init__(self, path: Path, kind: type[_Entry], noun: str) -> None:
        self.path = path
        self._kind, self._noun = kind, noun

    def read(self) -> list[_Entry]:
        """Return all entries, in order.

        A half line at the end, which a crash leaves, is passed over. Raises UserError for a line
        that cannot be understood.
        """
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return []
        whole = text[: text.rfind(b"\n") + 1]
        return [self._entry(number, line) for number, line in enumerate(whole.splitlines(), 1)]

    def append(self, entries: Sequence[_Entry]) -> None:
        """Add entries, on the disk when this returns."""
        if not entries:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(f"{entry.model_dump_json(exclude_defaults=True)}\n" for entry in entries)
        with self.path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _mend(file.fileno())
            file.write(lines.encode())
            file.flush()
            os.fsync(file.fileno())

    def _entry(self, number: int, line: bytes) -> _Entry:
        try:
            return self._kind.model_validate_json(line)
        except ValidationError as error:
            raise UserError(
                f"{self.path}:{number}: not {self._noun} that this nightshift knows; upgrade it, "
                "or mend the line"
            ) from error


def _mend(descriptor: int) -> None:
    """Cut off a half line at the end: the entry was never whole, and the next must be."""
    size = os.fstat(descriptor).st_size
    text = os.pread(descriptor, size, 0)
    whole = text.rfind(b"\n") + 1
    if whole < size:
        os.ftruncate(descriptor, whole)
