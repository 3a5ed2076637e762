"""Machine time: what nights, and experiments about regressions and other questions, took.

The journal tells what confirming and bisecting took, the bundles what all the others did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import Engine

from pipeline.analyse.record import ASIDE
from pipeline.bundle import BUNDLES, EXPERIMENTS, DamagedBundleError, list_all, read_manifest
from pipeline.journal import Event, EventKind
from pipeline.model import Frozen
from pipeline.store.queries import measured_time
from pipeline.store.regressions import RegressionRow
from pipeline.units import Money

OUTCOMES = (EventKind.CONFIRMED, EventKind.REJECTED, EventKind.UNDECIDED)
"""What an experiment of confirm ends with."""

EXPLAINING = "explain-"
"""What the folder is called in which changed settings of a regression were tested."""


class Spent(Frozen):
    """Minutes of machine time.

    ``confirm`` is measured time, ``bisect`` has the time for builds in it, ``nights``, ``explain``
    and ``other`` are the runs alone. ``other`` is what was compared or bisected by hand, and what
    was set aside to be measured anew.
    """

    nights: float = 0.0
    confirm: float = 0.0
    bisect: float = 0.0
    explain: float = 0.0
    other: float = 0.0

    @property
    def minutes(self) -> float:
        """All of them."""
        return self.nights + self.confirm + self.bisect + self.explain + self.other


def spent_on(events: Iterable[Event], explained: float = 0.0) -> Spent:
    """Return what a regression took that all this happened to; ``explained`` minutes on settings.

    Each tells what its experiment took until then, and of one that went on the last one all of it.
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
    """Return what confirming and bisecting took since a moment, of all that the journal tells.

    An experiment that goes on tells all that it took, so what it took before is taken off. One that
    had confirmed or rejected does not go on: it is measured anew.
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
    known: Sequence[RegressionRow], explained: Mapping[str, float], results: Path, store: Engine
) -> Spent:
    """Return all that the machine measured.

    ``known`` is what is known of all regressions and improvements, ``explained`` what
    :func:`spent_explaining` returns.
    """
    about = [spent_on(row.events) for row in known]
    told = {event.experiment for row in known for event in row.events}
    return Spent(
        nights=spent_in_nights(store),
        confirm=sum(each.confirm for each in about),
        bisect=sum(each.bisect for each in about),
        explain=sum(explained.values()),
        other=spent_otherwise(results, told),
    )


def cost_of(minutes: float, price: Money) -> Money:
    """Return what so many minutes of a machine cost, at the price of an hour."""
    return price._replace(amount=price.amount * minutes / 60.0)


def spent_explaining(results: Path) -> dict[str, float]:
    """Return the minutes that testing changed settings took, by the regression's fingerprint."""
    folders = (results / EXPERIMENTS).glob(f"{EXPLAINING}*")
    return {folder.name.removeprefix(EXPLAINING): _runs_in(folder) for folder in folders}


def spent_otherwise(results: Path, told: Iterable[str]) -> float:
    """Return the minutes of runs in experiments of which neither the journal nor explain tells.

    ``told`` are the names of those in the journal.
    """
    known = {*told, ASIDE}
    folders = [
        folder
        for folder in (results / EXPERIMENTS).glob("*")
        if folder.name not in known and not folder.name.startswith(EXPLAINING)
    ]
    folders += (results / EXPERIMENTS / ASIDE).glob("*")
    return sum(_runs_in(folder) for folder in folders)


def spent_in_nights(store: Engine) -> float:
    """Return the minutes of all runs of the nights."""
    return measured_time(store) / timedelta(minutes=1)


def _runs_in(folder: Path) -> float:
    """Return the minutes that the runs in the folder of an experiment took."""
    took = timedelta()
    for path in list_all(folder / BUNDLES):
        try:
            manifest = read_manifest(path)
        except DamagedBundleError:
            # It is measured again when it is needed, and then it counts.
            continue
        took += manifest.ended_at - manifest.started_at
    return took / timedelta(minutes=1)
