"""The record of nights: how each of them went, which no bundle can tell.

One JSON object a line in ``results/nights.jsonl``, only ever appended to, as the journal beside it.
It is about the pipeline and says nothing of a DBMS.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from pydantic import Field

from pipeline.appended import Appended
from pipeline.journal import Event, EventKind
from pipeline.model import Frozen, RegressionState
from pipeline.units import Money

FILE = "nights.jsonl"
"""Its name in the results folder."""


class Night(Frozen):
    """How one night went. None, or nothing, stands for what was not known when it ended.

    ``error`` is empty for a night that went well, else the one line that it ended with.
    ``preflight`` is what its machine was warned of before it measured, by check. ``runs`` are those
    that it measured, ``failed_steps`` the steps that failed in them. Of its plan, ``unbuilt`` are
    the builds that could not be had, and ``queue`` the runs that are left.
    ``series`` is in how many it looked for changes, ``regressions`` how many of those that are
    known are in which state. ``stages`` are the seconds that each stage took; ``spent`` the seconds
    of machine time that went into its runs, and into confirming and bisecting, and ``budget`` those
    that these two may take in a night.

    The rest is since the beginning: ``spent_so_far`` the minutes of machine time as the ledger
    tells them, ``money`` what they cost where a price is set, and ``alarms`` how many had which
    verdict.
    """

    began: datetime
    ended: datetime
    error: str = ""
    preflight: dict[str, str] = Field(default_factory=dict)
    runs: int = Field(default=0, ge=0)
    failed_steps: int | None = None
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
        """How long it took."""
        return (self.ended - self.began).total_seconds()


class Nights(Appended[Night]):
    """The record of a results folder."""

    def __init__(self, results: Path) -> None:
        super().__init__(results / FILE, Night, "a night")


def told_in(night: Night, events: Iterable[Event]) -> dict[EventKind, set[str]]:
    """Return the regressions that a night raised and those that it confirmed, by fingerprints.

    ``events`` are those of the journal. What was found before is not raised again when it is found
    to be wider, and improvements are no regressions.
    """
    told: dict[EventKind, set[str]] = {EventKind.FOUND: set(), EventKind.CONFIRMED: set()}
    worse: dict[str, bool] = {}
    for event in events:
        raised = event.regression is not None and event.fingerprint not in worse
        if event.regression is not None:
            worse[event.fingerprint] = event.regression.worse
        if not worse.get(event.fingerprint) or not night.began <= event.at <= night.ended:
            continue
        if raised or event.event is EventKind.CONFIRMED:
            told[event.event].add(event.fingerprint)
    return told
