"""The journal: what people and experiments decided, which no bundle can tell.

One JSON object a line in ``results/journal.jsonl``, only ever appended to. With the bundles it is
the truth: what the store knows of regressions is derived from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path

from pydantic import AwareDatetime, Field

from pipeline.appended import Appended
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

    at: AwareDatetime
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


class Journal(Appended[Event]):
    """The journal of a results folder."""

    def __init__(self, results: Path) -> None:
        super().__init__(results / FILE, Event, "an event")


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
