"""How long machines measured for nights and experiments.

The journal records the time of confirming and bisecting, the bundles that of other experiments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import Engine

from pipeline.experiments.record import ASIDE, EXPLAINING
from pipeline.model import Frozen
from pipeline.regressions.states import KnownRegression
from pipeline.storage.bundle import (
    BUNDLES,
    EXPERIMENTS,
    DamagedBundleError,
    list_all,
    read_manifest,
)
from pipeline.storage.journal import Event, EventKind
from pipeline.storage.runs import measured_time
from pipeline.text.units import Money

OUTCOMES = (EventKind.CONFIRMED, EventKind.REJECTED, EventKind.UNDECIDED)
"""The events that end a confirmation experiment."""


class Spent(Frozen):
    """Machine time by purpose, in minutes.

    ``confirm`` is the time spent measuring, ``bisect`` also includes the time for builds;
    ``nights``, ``explain`` and ``other`` are the durations of runs alone. ``other`` includes
    comparisons and bisections by hand, and archived experiments.
    """

    nights: float = 0.0
    confirm: float = 0.0
    bisect: float = 0.0
    explain: float = 0.0
    other: float = 0.0

    @property
    def minutes(self) -> float:
        """The total machine time in minutes."""
        return self.nights + self.confirm + self.bisect + self.explain + self.other


def spent_on(events: Iterable[Event], explained: float = 0.0) -> Spent:
    """Return the machine time spent on one regression, by purpose.

    Each event reports its experiment's time so far, so the last event of a continued experiment
    reports all of it.
    """
    confirm: dict[str, float] = {}
    bisect: dict[str, float] = {}
    for event in events:
        if event.event is EventKind.BISECTED:
            bisect[event.experiment] = event.minutes
        elif event.experiment:
            confirm[event.experiment] = event.minutes
    return Spent(confirm=sum(confirm.values()), bisect=sum(bisect.values()), explain=explained)


def spent_since(events: Iterable[Event], since: datetime) -> Spent:
    """Return the time spent on confirming and bisecting since a date, from the journal.

    A continued experiment reports its total time, so the time before is subtracted. An experiment
    that confirmed or rejected is not continued, but repeated.
    """
    before: dict[str, float] = {}
    minutes = {"confirm": 0.0, "bisect": 0.0}
    for event in events:
        if not event.experiment:
            continue
        if event.at >= since:
            on = "bisect" if event.event is EventKind.BISECTED else "confirm"
            minutes[on] += max(event.minutes - before.get(event.experiment, 0.0), 0.0)
        decided = event.event in (EventKind.CONFIRMED, EventKind.REJECTED)
        before[event.experiment] = 0.0 if decided else event.minutes
    return Spent(**minutes)


def spent_in_all(
    known: Sequence[KnownRegression], explained: Mapping[str, float], results: Path, store: Engine
) -> Spent:
    """Return the machine time of all nights and experiments, by purpose.

    ``known`` are all regressions and improvements, ``explained`` is the result of
    :func:`spent_explaining`.
    """
    about = [spent_on(row.events) for row in known]
    reported = {event.experiment for row in known for event in row.events}
    return Spent(
        nights=spent_in_nights(store),
        confirm=sum(each.confirm for each in about),
        bisect=sum(each.bisect for each in about),
        explain=sum(explained.values()),
        other=spent_otherwise(results, reported),
    )


def cost_of(minutes: float, price: Money) -> Money:
    """Return the cost of machine time, in minutes, at a price per hour."""
    return price._replace(amount=price.amount * minutes / 60.0)


def spent_explaining(results: Path) -> dict[str, float]:
    """Return the minutes spent on trying old settings, by fingerprint of the regression."""
    folders = (results / EXPERIMENTS).glob(f"{EXPLAINING}*")
    return {folder.name.removeprefix(EXPLAINING): _runs_in(folder) for folder in folders}


def spent_otherwise(results: Path, reported: Iterable[str]) -> float:
    """Return the minutes of experiments that belong to no regression.

    ``reported`` has the names of the experiments in the journal.
    """
    known = {*reported, ASIDE}
    folders = [
        folder
        for folder in (results / EXPERIMENTS).glob("*")
        if folder.name not in known and not folder.name.startswith(EXPLAINING)
    ]
    folders += (results / EXPERIMENTS / ASIDE).glob("*")
    return sum(_runs_in(folder) for folder in folders)


def spent_in_nights(store: Engine) -> float:
    """Return the minutes of all runs in nights."""
    return measured_time(store) / timedelta(minutes=1)


def _runs_in(folder: Path) -> float:
    """Return the minutes of all runs in the folder of an experiment."""
    took = timedelta()
    for path in list_all(folder / BUNDLES):
        try:
            manifest = read_manifest(path)
        except DamagedBundleError:
            # A damaged run is repeated when it is needed, and then it counts.
            continue
        took += manifest.ended_at - manifest.started_at
    return took / timedelta(minutes=1)
