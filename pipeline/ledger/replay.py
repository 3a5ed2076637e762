"""Replay: which regressions the present settings would have found in the stored nights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from pipeline.config import DetectSection
from pipeline.environment.assess import EnvironmentAssessment, environment_of, measured_where
from pipeline.environment.outages import without_outages
from pipeline.ledger.ledger import NOT_MEASURED, verdict_on
from pipeline.measure.plan import Line, Plan
from pipeline.model import (
    Frozen,
    Regression,
    RegressionKind,
    RegressionState,
    Shift,
)
from pipeline.regressions.anchors import anchors
from pipeline.regressions.counted import by_mode
from pipeline.regressions.detect import search
from pipeline.regressions.grouping import worst
from pipeline.regressions.reconcile import identify, night_of
from pipeline.regressions.rules import Rules
from pipeline.regressions.states import KnownRegression, KnownRegressions, known_regressions
from pipeline.storage.controls import ControlRow
from pipeline.storage.journal import Event, EventKind
from pipeline.storage.runs import RunHead
from pipeline.storage.series import Series

_FIRST_NIGHT = datetime(2000, 1, 1, tzinfo=UTC)
"""The date of the first replayed night, with one night a day. Nothing depends on the date."""

FEWEST = 2
"""Positions of a line in its first replayed night: fewer cannot be compared."""


class Raised(Frozen):
    """A regression or an improvement that a replay of past nights found.

    ``night`` is the newest revision of the night that found it; ``waited`` is how many nights
    passed since the first bad revision. ``kept`` says whether the alarm remains in the last night;
    ``resolved`` is the night that measured the regression as gone, if any. ``verdict`` is from the
    existing experiments, as in the ledger: the replay repeats none.
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
        """Whether the regression would have been filed, because an experiment confirmed it."""
        return self.worse and self.verdict == EventKind.CONFIRMED

    @property
    def open(self) -> bool:
        """Whether the regression would have been measured again, with unknown result."""
        return self.worse and self.verdict == NOT_MEASURED


def replay(
    plan: Plan,
    series: Sequence[Series],
    runs: Sequence[RunHead],
    hostnames: Mapping[str, str],
    rules: Rules,
    settings: DetectSection,
    happened: Sequence[Event] = (),
    progress: Callable[[], None] = lambda: None,
    controls: Sequence[ControlRow] = (),
) -> list[Raised]:
    """Replay the stored nights of a plan; return what each would have found, in order.

    Each night adds one position with all repetitions to a line. It searches the data up to that
    night, calibrated with the ``controls`` up to that night. Nothing is remeasured: the journal's
    events, ``happened``, say which findings experiments confirmed or rejected. Calls ``progress``
    once per night.
    """
    known = known_regressions(happened)
    raised = []
    # Lines share nights, and one night measures many revisions.
    environments: dict[tuple[int, float], EnvironmentAssessment] = {}
    for line in plan.lines:
        raised += _line(
            line, series, runs, hostnames, rules, settings, known, progress, controls, environments
        )
    return raised


def nights(plan: Plan) -> int:
    """Return how many nights of a plan a replay goes through."""
    return sum(max(len(line.revisions) - FEWEST + 1, 0) for line in plan.lines)


def _line(
    line: Line,
    series: Sequence[Series],
    runs: Sequence[RunHead],
    hostnames: Mapping[str, str],
    rules: Rules,
    settings: DetectSection,
    known: KnownRegressions,
    progress: Callable[[], None],
    controls: Sequence[ControlRow],
    environments: dict[tuple[int, float], EnvironmentAssessment],
) -> list[Raised]:
    plan = Plan(lines=(line,), repetitions=1)
    started = {run.run_id: run.started_at for run in runs}
    measured = measured_where(runs, hostnames)
    journal: list[Event] = []
    places: dict[datetime, int] = {}
    first: dict[str, tuple[int, Regression]] = {}
    last: set[str] = set()
    for count in range(FEWEST, len(line.revisions) + 1):
        at = _FIRST_NIGHT + timedelta(days=count)
        places[at] = count - 1
        then = _known_then(series, line, count, started)
        latest = max(_times(then, started), default=at)
        rows = [row for row in controls if row.started_at <= latest]
        timed, counted = by_mode(then)
        smallest = settings.min_effect
        alarms = rules.alarms_per_1000(len(timed))
        if (len(rows), alarms) not in environments:
            environments[len(rows), alarms] = environment_of(rows, measured, alarms, smallest)
        environment = environments[len(rows), alarms]
        present = [
            one
            for one in (
                *environment.calibrated(without_outages(timed, runs, hostnames, smallest)),
                *counted,
            )
            if len(one.values) and one.key.line == line.name
        ]
        since = anchors(plan, known_regressions(journal), settings.creep_since)
        found = search(present, plan, rules, environment=environment, anchors=since)
        detected, fresh = night_of(found, plan, present, journal, settings, at)
        journal += fresh
        for one in detected.regressions:
            first.setdefault(one.fingerprint, (count - 1, one))
        last = {one.fingerprint for one in detected.regressions}
        progress()
    stories = known_regressions(journal)
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


def _verdicts(stories: KnownRegressions, known: KnownRegressions, plan: Plan) -> dict[str, str]:
    """Return the journal's verdict on each regression that a replay finds."""
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
    """Return the series as they were in the night when a line had ``count`` revisions.

    Series of other lines are included, up to the time of that night, because their controls show
    outages.
    """
    mine = [one for one in series if one.key.line == line.name]
    others = [one for one in series if one.key.line != line.name]
    grown = [one.where(one.positions < count) for one in mine]
    times = _times(grown, started)
    if not times:
        return grown
    latest = max(times)
    return grown + [
        one.where(np.array([started[each] <= latest for each in one.run_ids], dtype=bool))
        for one in others
    ]


def _times(series: Iterable[Series], started: Mapping[str, datetime]) -> set[datetime]:
    """Return when the runs of series began."""
    return {started[run_id] for one in series for run_id in one.run_ids}


def _resolved(history: KnownRegression, line: Line, places: Mapping[datetime, int]) -> str:
    if history.state is not RegressionState.RESOLVED or history.decided is None:
        return ""
    return line.revisions[places[history.decided.at]].label
