"""The journal: the log of decisions by people and outcomes of experiments about regressions.

The journal is an append-only file, ``results/journal.jsonl``, with one JSON object a line. Bundles
and journal are the primary data: the states of regressions are derived from the journal.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path

from pydantic import AwareDatetime, Field

from pipeline.files.jsonl_log import Appended
from pipeline.model import Culprit, Frozen, Pattern, Regression

_LOG = logging.getLogger(__name__)


FILE = "journal.jsonl"
"""The journal's name in the results folder."""

PIPELINE = "nightshift"
"""The author of an event that no person wrote."""


class EventKind(StrEnum):
    """The kinds of events in the journal: the states of a regression, and mutes."""

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
    """One line of the journal: what happened to a regression, when, and who decided it.

    ``fingerprint`` identifies a regression or a mute. For a regression that detection found,
    ``regression`` is the evidence, and ``earliest`` and ``latest`` are the labels of the revisions
    that may be the first bad one. These are labels because positions change when a line gets
    another first revision. ``before`` is the label of the revision before ``earliest``: a revision
    between these two that is measured later may also be the first bad one. For an outcome,
    ``experiment`` is the name of the experiment's folder, ``blocks`` the number of measured blocks
    and ``minutes`` the time spent; ``reason`` says whether a rejection was due to noise or the
    environment. ``recovery`` is the fingerprint of the improvement that resolved a regression.
    ``culprit`` is the culprit that a bisection found. ``expires`` is the last day of an
    acknowledgement or a mute.
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
    """Return the present time (UTC) for a new event of the journal."""
    return datetime.now(UTC)


class Journal(Appended[Event]):
    """The journal file of a results folder, which is only appended to."""

    def __init__(self, results: Path) -> None:
        super().__init__(results / FILE, Event, "an event")

    def _appended(self, entries: Sequence[Event]) -> None:
        for event in entries:
            _LOG.info(
                "journal event",
                extra={
                    "kind": event.event.value,
                    "fingerprint": event.fingerprint,
                    "experiment": event.experiment,
                },
            )


def mutes(events: Sequence[Event], today: date) -> dict[str, Event]:
    """Return the mutes that are in force on a day, by fingerprint."""
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
