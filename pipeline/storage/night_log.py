"""The record of nights: one line for each night with its outcome.

The record is an append-only file, ``results/nights.jsonl``, with one JSON object a line. It
describes the pipeline, not a DBMS.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from pydantic import Field

from pipeline.files.jsonl_log import Appended
from pipeline.model import Frozen, RegressionState
from pipeline.storage.journal import Event, EventKind
from pipeline.text.units import Money

FILE = "nights.jsonl"
"""The name of the record in the results folder."""


class Night(Frozen):
    """The record of one night: times, counts and outcome. None or empty means unknown.

    ``error`` is the error message of a failed night, else empty. ``preflight`` has the warnings
    about the machine, by check. ``runs`` counts the measured runs, ``failed_steps`` the failed
    steps in these runs, ``disturbed`` the disturbed ones of its timed runs. ``harness_errors`` has
    the reason for each run that was not measured, by name of the run. ``unbuilt`` counts the failed
    builds of the plan, ``queue`` the planned runs that remain. ``series`` counts the series that
    the night searched for changes, ``regressions`` the known regressions by state. ``stages`` has
    the seconds of each stage. ``spent`` has the seconds of machine time for runs, for confirming
    and for bisecting. ``budget`` has the maximum seconds for confirming and for bisecting in a
    night.

    The other fields cover all nights so far: ``spent_so_far`` is the machine time of the ledger in
    minutes, ``money`` its cost if a price is set, and ``alarms`` the number of alarms by verdict.
    """

    began: datetime
    ended: datetime
    error: str = ""
    preflight: dict[str, str] = Field(default_factory=dict)
    runs: int = Field(default=0, ge=0)
    harness_errors: dict[str, str] = Field(default_factory=dict)
    failed_steps: int | None = None
    disturbed: int | None = None
    unbuilt: int | None = None
    queue: int | None = None
    series: int | None = None
    regressions: dict[RegressionState, int] = Field(default_factory=dict)
    stages: dict[str, float] = Field(default_factory=dict)
    spent: dict[str, float] = Field(default_factory=dict)
    budget: dict[str, float] = Field(default_factory=dict)
    spent_so_far: dict[str, float] = Field(default_factory=dict)
    money: Money | None = None
    alarms: dict[str, int] = Field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """How long the night took, in seconds."""
        return (self.ended - self.began).total_seconds()


class Nights(Appended[Night]):
    """The record of all nights in a results folder."""

    def __init__(self, results: Path) -> None:
        super().__init__(results / FILE, Night, "a night")


def events_of_night(night: Night, events: Iterable[Event]) -> dict[EventKind, set[str]]:
    """Return the fingerprints of the regressions that a night suspected or confirmed, by event.

    ``events`` are those of the journal. A known regression is not suspected again when more series
    join it or its range of revisions changes. Improvements are not included.
    """
    reported: dict[EventKind, set[str]] = {EventKind.FOUND: set(), EventKind.CONFIRMED: set()}
    worse: dict[str, bool] = {}
    for event in events:
        raised = event.regression is not None and event.fingerprint not in worse
        if event.regression is not None:
            worse[event.fingerprint] = event.regression.worse
        if not worse.get(event.fingerprint) or not night.began <= event.at <= night.ended:
            continue
        if raised or event.event is EventKind.CONFIRMED:
            reported[event.event].add(event.fingerprint)
    return reported
