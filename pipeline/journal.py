"""The journal: what people and experiments decided, which no bundle can tell.

One JSON object a line in ``results/journal.jsonl``, only ever appended to. With the bundles it is
the truth: what the store knows of regressions is derived from it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path

from pydantic import Field, ValidationError

from pipeline.errors import UserError
from pipeline.model import Culprit, Frozen, Pattern, Regression

FILE = "journal.jsonl"
"""Its name in the results folder."""

PIPELINE = "nightshift"
"""Who an event is by that no person wrote."""


class EventKind(StrEnum):
    """What can happen to a regression, and the two events that are about mutes."""

    FOUND = "found"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    UNDECIDED = "undecided"
    ACKNOWLEDGED = "acknowledged"
    EXPIRED = "expired"
    WONT_FIX = "won't fix"
    RESOLVED = "resolved"
    REOPENED = "reopened"
    BISECTED = "bisected"
    MUTED = "muted"
    UNMUTED = "unmuted"


class Event(Frozen):
    """One line of the journal.

    ``fingerprint`` is that of a regression, or of a mute. Of what was found, ``regression`` is the
    evidence, with the labels of the ``earliest`` and the ``latest`` revision that may be the first
    bad one: positions change when a line begins elsewhere, labels do not. ``before`` is the label
    before the earliest: what is measured between the two later may be the first bad one, too. Of an
    outcome, ``experiment`` names the folder that holds it, with the blocks measured and the
    ``minutes`` spent, and ``reason`` says of a rejection whether it was noise or the environment.
    ``recovery`` is the fingerprint of the improvement that resolved a regression. ``culprit`` is
    what a bisection named, if it named one. ``expires`` is the last day of an acknowledgement or a
    mute.
    """

    at: datetime
    event: EventKind
    fingerprint: str
    by: str = PIPELINE
    note: str = ""
    expires: date | None = None
    regression: Regression | None = None
    before: str = ""
    earliest: str = ""
    latest: str = ""
    experiment: str = ""
    reason: str = ""
    blocks: int = Field(default=0, ge=0)
    minutes: float = Field(default=0.0, ge=0)
    recovery: str = ""
    culprit: Culprit | None = None
    pattern: Pattern | None = None


def now() -> datetime:
    """Return the moment that an event written now is of."""
    return datetime.now(UTC)


class Journal:
    """The journal of a results folder. Several processes may append at once."""

    def __init__(self, results: Path) -> None:
        self.path = results / FILE

    def read(self) -> list[Event]:
        """Return what happened, in order.

        A half line at the end, which a crash leaves, is passed over. Raises UserError for a line
        that cannot be understood.
        """
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return []
        whole = text[: text.rfind(b"\n") + 1]
        return [self._event(number, line) for number, line in enumerate(whole.splitlines(), 1)]

    def append(self, events: Sequence[Event]) -> None:
        """Add events, on the disk when this returns."""
        if not events:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(f"{event.model_dump_json(exclude_defaults=True)}\n" for event in events)
        with self.path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _mend(file.fileno())
            file.write(lines.encode())
            file.flush()
            os.fsync(file.fileno())

    def _event(self, number: int, line: bytes) -> Event:
        try:
            return Event.model_validate_json(line)
        except ValidationError as error:
            raise UserError(
                f"{self.path}:{number}: not an event that this nightshift knows; upgrade it, or "
                "mend the line"
            ) from error


def _mend(descriptor: int) -> None:
    """Cut off a half line at the end: the event was never whole, and the next must be."""
    size = os.fstat(descriptor).st_size
    text = os.pread(descriptor, size, 0)
    whole = text.rfind(b"\n") + 1
    if whole < size:
        os.ftruncate(descriptor, whole)


def mutes(events: Sequence[Event], today: date) -> dict[str, Event]:
    """Return the mutes that hold on a day, by their fingerprints."""
    held: dict[str, Event] = {}
    for event in events:
        if event.event is EventKind.MUTED:
            held[event.fingerprint] = event
        elif event.event is EventKind.UNMUTED:
            held.pop(event.fingerprint, None)
    return {
        name: event
        for name, event in held.items()
        if event.expires is None or event.expires >= today
    }
