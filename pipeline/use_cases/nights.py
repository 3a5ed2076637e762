"""List past nights with the regressions that each found."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.storage.journal import EventKind, now
from pipeline.storage.night_log import Night, Nights, events_of_night
from pipeline.use_cases.context import Context


class NightFindings(NamedTuple):
    """A night, and which regressions it suspected and confirmed."""

    night: Night
    found: set[str]
    confirmed: set[str]


def list_nights(context: Context) -> list[NightFindings]:
    """Return all nights, oldest first."""
    events = context.regressions.events(now())
    rows = []
    for night in Nights(context.results).read():
        reported = events_of_night(night, events)
        rows.append(NightFindings(night, reported[EventKind.FOUND], reported[EventKind.CONFIRMED]))
    return rows
