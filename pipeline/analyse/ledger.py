"""The ledger: what the alarms were worth, what they cost, and what this setup can find at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import Engine

from changepoint import Detection
from pipeline.analyse.rules import NIGHTS, Rules
from pipeline.analyse.shifts import SLA, detect_in
from pipeline.analyse.spent import OUTCOMES, Spent, spent_explaining, spent_in_all, spent_on
from pipeline.journal import Event
from pipeline.metrics import LEAST_CHANGE
from pipeline.model import Frozen, RegressionKind, RegressionState, Series, SeriesKey
from pipeline.store.derive.background import SUSTAINED
from pipeline.store.regressions import RegressionRow

NOT_MEASURED = "not measured again"
"""The verdict on an alarm that no experiment was about."""

VERDICTS = ("confirmed", "noise", "environment", "undecided", NOT_MEASURED)
"""What can become of an alarm."""


class Alarm(Frozen):
    """A regression or an improvement that was raised, and what became of it.

    ``verdict`` is that of the last experiment: confirmed, noise, environment, undecided, or
    ``NOT_MEASURED``. ``experiments`` and their ``blocks`` are those that confirm it or not,
    ``spent`` is all that was measured about it.
    """

    fingerprint: str
    raised: datetime
    line: str
    last_good: str
    first_bad: str
    kind: RegressionKind
    worse: bool
    state: RegressionState
    verdict: str
    experiments: int
    blocks: int
    spent: Spent


class Sensitivity(Frozen):
    """What one series can show.

    ``detectable_effect`` is the relative change of level in its middle that is found and told in
    about 8 of 10 cases, ``detectable_fresh`` that of one that only the five newest revisions have;
    infinite where none is. ``positions`` and ``values`` are how many it has.
    """

    series: SeriesKey
    positions: int
    values: int
    alarms_per_1000: float
    detectable_effect: float
    detectable_fresh: float


class Ledger(Frozen):
    """Alarms, oldest first, and series, the least sensitive first.

    ``wrong_issues_per_month`` is what the thresholds of all series allow together, if each gets a
    new position in every night. ``spent`` is what was measured in all.
    """

    alarms: tuple[Alarm, ...]
    series: tuple[Sensitivity, ...]
    wrong_issues_per_month: float
    spent: Spent

    def count(self, verdict: str) -> int:
        """Return how many alarms ended so."""
        return sum(alarm.verdict == verdict for alarm in self.alarms)


def make_ledger(
    known: Iterable[RegressionRow],
    series: Sequence[Series],
    rules: Rules,
    results: Path,
    store: Engine,
) -> Ledger:
    """Return the ledger of what is known, and of the series that are searched.

    An improvement that made a regression good is the end of that one, and no alarm. What it cost is
    read from the store and from the experiments in ``results``.
    """
    heard = rules.heard(series)
    sensitivities = [_sensitivity(one, rules, len(heard)) for one in heard]
    explained = spent_explaining(results)
    rows = sorted(known, key=lambda row: row.events[0].at)
    alarms = tuple(_alarm(row, explained) for row in rows if not row.regression.recovers)
    return Ledger(
        alarms=alarms,
        series=tuple(sorted(sensitivities, key=lambda one: -one.detectable_effect)),
        wrong_issues_per_month=sum(one.alarms_per_1000 for one in sensitivities) * NIGHTS / 1000,
        spent=spent_in_all(rows, explained, results, store),
    )


def _alarm(row: RegressionRow, explained: Mapping[str, float]) -> Alarm:
    found = row.regression
    outcomes = [event for event in row.events if event.event in OUTCOMES]
    # An experiment that went on has several outcomes; the last one tells all of its blocks.
    last = {event.experiment: event for event in outcomes}
    return Alarm(
        fingerprint=found.fingerprint,
        raised=row.events[0].at,
        line=found.line,
        last_good=found.last_good,
        first_bad=found.first_bad,
        kind=found.kind,
        worse=found.worse,
        state=found.state,
        verdict=verdict_on(row.events),
        experiments=len(last),
        blocks=sum(event.blocks for event in last.values()),
        spent=spent_on(row.events, explained.get(found.fingerprint, 0.0)),
    )


def verdict_on(events: Iterable[Event]) -> str:
    """Return what the last experiment about a regression said, of all that happened to it."""
    outcomes = [event for event in events if event.event in OUTCOMES]
    if not outcomes:
        return NOT_MEASURED
    return outcomes[-1].reason or outcomes[-1].event.value


def verdicts_on(known: Iterable[RegressionRow]) -> dict[str, int]:
    """Return how many alarms had which verdict, of all that is known, every verdict once."""
    counted = Counter(verdict_on(row.events) for row in known if not row.regression.recovers)
    return {verdict: counted[verdict] for verdict in VERDICTS}


def _sensitivity(series: Series, rules: Rules, count: int) -> Sensitivity:
    watch = rules.watch(series.key, count)
    detection = detect_in(series, watch)
    least = _least(series.key.metric, detection)
    return Sensitivity(
        series=series.key,
        positions=len({point.position for point in series.points}),
        values=len(series.points),
        alarms_per_1000=watch.alarms_per_1000,
        detectable_effect=max(detection.detectable_effect, least),
        detectable_fresh=max(detection.detectable_fresh, least),
    )


def _least(metric: str, detection: Detection) -> float:
    """Return the relative change that is told at least, where the metric has its own least one.

    An SLA that is met has to be missed.
    """
    level = abs(detection.segments[-1].level.level) if detection.segments else 0.0
    if level == 0.0:
        return 0.0
    if metric == SLA:
        return max(1.0 - SUSTAINED / level, 0.0)
    return LEAST_CHANGE.get(metric, 0.0) / level
