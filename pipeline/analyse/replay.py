"""What would have been found, night by night, had this configuration run over what is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from pipeline.analyse.detection import search
from pipeline.analyse.environment.environment import (
    Environment,
    environment_of,
    measured_where,
)
from pipeline.analyse.identity import identify
from pipeline.analyse.ledger import NOT_MEASURED, verdict_on
from pipeline.analyse.outages import without_outages
from pipeline.analyse.regressions import worst
from pipeline.analyse.rules import Rules
from pipeline.analyse.settle import night_of
from pipeline.analyse.states import Histories, History, histories
from pipeline.execute.plan import Line, Plan
from pipeline.journal import Event, EventKind
from pipeline.model import (
    Frozen,
    Point,
    Regression,
    RegressionKind,
    RegressionState,
    Series,
    Shift,
)
from pipeline.store.controls import ControlRow
from pipeline.store.queries import RunRow

_FIRST_NIGHT = datetime(2000, 1, 1, tzinfo=UTC)
"""A night a day, from any day on: nothing that is replayed depends on the date."""

FEWEST = 2
"""Positions without which there is nothing to compare."""


class Raised(Frozen):
    """A regression or an improvement that would have been found.

    ``night`` is the newest revision of the night in which it was, ``waited`` how many nights that
    is behind the first bad revision. ``kept`` says whether the alarm is still there in the last
    night; ``resolved`` is the night in which it was measured to be gone, if it was. ``verdict`` is
    what experiments said of it, as in the ledger: they are not made again.
    """

    fingerprint: str
    line: str
    kind: RegressionKind
    night: str
    last_good: str
    first_bad: str
    worse: bool
    largest: Shift
    series: int
    waited: int
    kept: bool
    resolved: str = ""
    verdict: str = NOT_MEASURED

    @property
    def filed(self) -> bool:
        """Whether it would have been filed: what was measured again and confirmed."""
        return self.worse and self.verdict == EventKind.CONFIRMED

    @property
    def open(self) -> bool:
        """Whether it would have been measured again, and nobody knows what that would have said."""
        return self.worse and self.verdict == NOT_MEASURED


def replay(
    plan: Plan,
    series: Sequence[Series],
    runs: Sequence[RunRow],
    rules: Rules,
    smallest: float,
    happened: Sequence[Event] = (),
    progress: Callable[[], None] = lambda: None,
    controls: Sequence[ControlRow] = (),
) -> list[Raised]:
    """Return what would have been found on the lines of a plan, in the order of the nights.

    A night adds a position to a line, with all its repetitions, and searches what there is by
    then, calibrated by the ``controls`` of then. Nothing is measured again; what ``happened``, as
    the journal has it, tells which of it experiments confirmed or rejected. Calls ``progress``
    once a night.
    """
    known = histories(happened)
    raised = []
    # Lines are measured in the same nights, and many revisions in one.
    environments: dict[tuple[int, float], Environment] = {}
    for line in plan.lines:
        raised += _line(
            line, series, runs, rules, smallest, known, progress, controls, environments
        )
    return raised


def nights(plan: Plan) -> int:
    """Return how many nights a replay has."""
    return sum(max(len(line.revisions) - FEWEST + 1, 0) for line in plan.lines)


def _line(
    line: Line,
    series: Sequence[Series],
    runs: Sequence[RunRow],
    rules: Rules,
    smallest: float,
    known: Histories,
    progress: Callable[[], None],
    controls: Sequence[ControlRow],
    environments: dict[tuple[int, float], Environment],
) -> list[Raised]:
    plan = Plan(lines=(line,), repetitions=1)
    started = {run.run_id: run.started_at for run in runs}
    measured = measured_where(runs)
    journal: list[Event] = []
    places: dict[datetime, int] = {}
    first: dict[str, tuple[int, Regression]] = {}
    last: set[str] = set()
    for count in range(FEWEST, len(line.revisions) + 1):
        at = _FIRST_NIGHT + timedelta(days=count)
        places[at] = count - 1
        then = _known_then(series, line, count, started)
        latest = max((started[point.run_id] for one in then for point in one.points), default=at)
        rows = [row for row in controls if row.started_at <= latest]
        alarms = rules.alarms_per_1000(len(then))
        if (len(rows), alarms) not in environments:
            environments[len(rows), alarms] = environment_of(rows, measured, alarms, smallest)
        environment = environments[len(rows), alarms]
        present = [
            one
            for one in environment.calibrated(without_outages(then, runs, smallest))
            if one.points and one.key.line == line.name
        ]
        found = search(present, plan, rules, environment=environment)
        detected, fresh = night_of(found, plan, present, journal, smallest, at)
        journal += fresh
        for one in detected.regressions:
            first.setdefault(one.fingerprint, (count - 1, one))
        last = {one.fingerprint for one in detected.regressions}
        progress()
    stories = histories(journal)
    verdicts = _verdicts(stories, known, plan)
    return [
        Raised(
            fingerprint=fingerprint,
            line=line.name,
            kind=found.kind,
            night=line.revisions[place].label,
            last_good=found.last_good,
            first_bad=found.first_bad,
            worse=found.worse,
            largest=worst(found),
            series=len(found.shifts),
            waited=place - found.position,
            kept=fingerprint in last,
            resolved=_resolved(stories[fingerprint], line, places),
            verdict=verdicts[fingerprint],
        )
        for fingerprint, (place, found) in first.items()
    ]


def _verdicts(stories: Histories, known: Histories, plan: Plan) -> dict[str, str]:
    """Return what the journal says of each regression, which it may know by another fingerprint."""
    latest = [history.regression for history in stories.values()]
    named = identify(latest, known, plan)
    return {
        fingerprint: verdict_on(known[one.fingerprint].events)
        if one.fingerprint in known
        else NOT_MEASURED
        for fingerprint, one in zip(stories, named, strict=True)
    }


def _known_then(
    series: Sequence[Series], line: Line, count: int, started: Mapping[str, datetime]
) -> list[Series]:
    """Return what was known in the night that the line had so many positions.

    Of other lines, whose controls tell of outages, that is what was measured until then.
    """
    mine = [one for one in series if one.key.line == line.name]
    others = [one for one in series if one.key.line != line.name]
    grown = [_only(one, lambda point: point.position < count) for one in mine]
    times = [started[point.run_id] for one in grown for point in one.points]
    if not times:
        return grown
    latest = max(times)
    return grown + [_only(one, lambda point: started[point.run_id] <= latest) for one in others]


def _only(series: Series, keep: Callable[[Point], bool]) -> Series:
    """Return a series with some of its points."""
    return series.model_copy(update={"points": tuple(filter(keep, series.points))})


def _resolved(history: History, line: Line, places: Mapping[datetime, int]) -> str:
    if history.state is not RegressionState.RESOLVED or history.decided is None:
        return ""
    return line.revisions[places[history.decided.at]].label
