"""What would have been filed, night by night, had this configuration run over what is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from pipeline.analyse.detection import search
from pipeline.analyse.outages import without_outages
from pipeline.analyse.regressions import worst
from pipeline.analyse.rules import Rules
from pipeline.analyse.settle import night_of
from pipeline.analyse.states import History, histories
from pipeline.execute.plan import Line, Plan
from pipeline.journal import Event
from pipeline.model import Frozen, Regression, RegressionState, Series, Shift
from pipeline.store.queries import RunRow

_FIRST_NIGHT = datetime(2000, 1, 1, tzinfo=UTC)
"""A night a day, from any day on: nothing that is replayed depends on the date."""

FEWEST = 2
"""Positions without which there is nothing to compare."""


class Filed(Frozen):
    """An issue that would have been filed.

    ``night`` is the newest revision of the night in which it was, ``waited`` how many nights that
    is behind the first bad revision. ``kept`` says whether the alarm is still there in the last
    night; ``resolved`` is the night in which it was measured to be gone, if it was.
    """

    fingerprint: str
    line: str
    night: str
    last_good: str
    first_bad: str
    worse: bool
    largest: Shift
    series: int
    waited: int
    kept: bool
    resolved: str = ""


def replay(
    plan: Plan,
    series: Sequence[Series],
    runs: Sequence[RunRow],
    rules: Rules,
    smallest: float,
    progress: Callable[[], None] = lambda: None,
) -> list[Filed]:
    """Return what would have been filed on the lines of a plan, in the order of the nights.

    A night adds a position to a line, with all its repetitions, and searches what there is by
    then. Nothing is measured again, so what an experiment would have rejected is among it. Calls
    ``progress`` once a night.
    """
    filed = []
    for line in plan.lines:
        mine = [one for one in series if one.key.line == line.name]
        filed += _line(line, mine, runs, rules, smallest, progress)
    return filed


def nights(plan: Plan) -> int:
    """Return how many nights a replay has."""
    return sum(max(len(line.revisions) - FEWEST + 1, 0) for line in plan.lines)


def _line(
    line: Line,
    series: Sequence[Series],
    runs: Sequence[RunRow],
    rules: Rules,
    smallest: float,
    progress: Callable[[], None],
) -> list[Filed]:
    plan = Plan(lines=(line,), repetitions=1)
    journal: list[Event] = []
    places: dict[datetime, int] = {}
    first: dict[str, tuple[int, Regression]] = {}
    last: set[str] = set()
    for known in range(FEWEST, len(line.revisions) + 1):
        at = _FIRST_NIGHT + timedelta(days=known)
        places[at] = known - 1
        grown = without_outages([_until(one, known) for one in series], runs, smallest)
        present = [one for one in grown if one.points]
        detected, fresh = night_of(
            search(present, plan, rules), plan, present, journal, smallest, at
        )
        journal += fresh
        for one in detected.regressions:
            first.setdefault(one.fingerprint, (known - 1, one))
        last = {one.fingerprint for one in detected.regressions}
        progress()
    stories = histories(journal)
    return [
        Filed(
            fingerprint=fingerprint,
            line=line.name,
            night=line.revisions[place].label,
            last_good=found.last_good,
            first_bad=found.first_bad,
            worse=found.worse,
            largest=worst(found),
            series=len(found.shifts),
            waited=place - found.position,
            kept=fingerprint in last,
            resolved=_resolved(stories[fingerprint], line, places),
        )
        for fingerprint, (place, found) in first.items()
    ]


def _until(series: Series, known: int) -> Series:
    points = tuple(point for point in series.points if point.position < known)
    return series.model_copy(update={"points": points})


def _resolved(history: History, line: Line, places: Mapping[datetime, int]) -> str:
    if history.state is not RegressionState.RESOLVED or history.decided is None:
        return ""
    return line.revisions[places[history.decided.at]].label
