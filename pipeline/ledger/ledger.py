"""The ledger: which alarms were right, what they cost, and how small a change can be seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import Engine

from changepoint import Detection
from pipeline.ledger.machine_time import OUTCOMES, Spent, spent_explaining, spent_in_all, spent_on
from pipeline.model import Frozen, RegressionKind, RegressionState, SeriesKey
from pipeline.model.counts import FLOOR
from pipeline.model.metrics import LEAST_CHANGE
from pipeline.regressions.counted import by_mode, is_counted
from pipeline.regressions.machine_noise import known_noise
from pipeline.regressions.rules import NIGHTS, Rules
from pipeline.regressions.shifts import NOTHING_SHARED, KnownNoise, detect_in
from pipeline.regressions.states import KnownRegression
from pipeline.regressions.watched import SLA
from pipeline.storage.derive.background import SUSTAINED
from pipeline.storage.journal import Event
from pipeline.storage.series import Series

NOT_MEASURED = "not measured again"
"""The verdict on an alarm without an experiment."""

VERDICTS = ("confirmed", "noise", "environment", "layout", "undecided", NOT_MEASURED)
"""The possible verdicts on an alarm."""


class Alarm(Frozen):
    """A reported regression or improvement, and whether it was confirmed.

    ``verdict`` is from the last experiment, one of ``VERDICTS``. ``experiments`` and ``blocks``
    count the confirmation experiments; ``spent`` is the machine time of everything measured about
    the alarm.
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
    """The smallest change that one series can show.

    ``detectable_effect`` is the relative change of level in the middle of the series that is
    detected and reported in about 8 of 10 cases. ``detectable_fresh`` is the same for a change that
    only the five newest revisions have. Both are infinite if no change is detectable. ``positions``
    and ``values`` are the series' numbers of positions and values.
    """

    series: SeriesKey
    positions: int
    values: int
    alarms_per_1000: float
    detectable_effect: float
    detectable_fresh: float


class Ledger(Frozen):
    """All alarms, oldest first, and the smallest change that each series can show.

    ``wrong_issues_per_month`` is how many false issues the thresholds of all series together allow,
    if each series gets a new position every night. ``spent`` is the total machine time.
    """

    alarms: tuple[Alarm, ...]
    series: tuple[Sensitivity, ...]
    wrong_issues_per_month: float
    spent: Spent

    def count(self, verdict: str) -> int:
        """Return how many alarms have a verdict, for example ``confirmed``."""
        return sum(alarm.verdict == verdict for alarm in self.alarms)


def make_ledger(
    known: Iterable[KnownRegression],
    series: Sequence[Series],
    rules: Rules,
    results: Path,
    store: Engine,
) -> Ledger:
    """Return the ledger of all known regressions and searched series.

    An improvement that ends a regression is no alarm. Costs are read from the store and from the
    experiments in ``results``.
    """
    unmuted = rules.unmuted(series)
    timed = by_mode(unmuted).timed
    noises = known_noise(timed)
    sensitivities = [
        _sensitivity(one, rules, len(timed), noises.get(one.key, NOTHING_SHARED)) for one in unmuted
    ]
    explained = spent_explaining(results)
    rows = sorted(known, key=lambda row: row.events[0].at)
    alarms = tuple(_alarm(row, explained) for row in rows if not row.regression.recovers)
    return Ledger(
        alarms=alarms,
        series=tuple(sorted(sensitivities, key=lambda one: -one.detectable_effect)),
        wrong_issues_per_month=sum(one.alarms_per_1000 for one in sensitivities) * NIGHTS / 1000,
        spent=spent_in_all(rows, explained, results, store),
    )


def _alarm(row: KnownRegression, explained: Mapping[str, float]) -> Alarm:
    found = row.regression
    outcomes = [event for event in row.events if event.event in OUTCOMES]
    # A continued experiment has several outcomes; the last one counts all of its blocks.
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
    """Return the verdict of the last experiment about a regression, one of ``VERDICTS``."""
    outcomes = [event for event in events if event.event in OUTCOMES]
    if not outcomes:
        return NOT_MEASURED
    return outcomes[-1].reason or outcomes[-1].event.value


def verdicts_on(known: Iterable[KnownRegression]) -> dict[str, int]:
    """Return how many alarms were confirmed, rejected and so on."""
    counted = Counter(verdict_on(row.events) for row in known if not row.regression.recovers)
    return {verdict: counted[verdict] for verdict in VERDICTS}


def _sensitivity(series: Series, rules: Rules, count: int, noise: KnownNoise) -> Sensitivity:
    watch = rules.settings_of(series.key, count)
    if is_counted(series.key):
        # One count on each side shows whatever exceeds the floor.
        visible = fresh = max(FLOOR, watch.min_effect)
    else:
        detection = detect_in(series, watch, noise)
        least = _least(series.key.metric, detection)
        visible = max(detection.detectable_effect, least)
        fresh = max(detection.detectable_fresh, least)
    return Sensitivity(
        series=series.key,
        positions=len(set(series.positions.tolist())),
        values=len(series.values),
        alarms_per_1000=watch.alarms_per_1000,
        detectable_effect=visible,
        detectable_fresh=fresh,
    )


def _least(metric: str, detection: Detection) -> float:
    """Return the smallest relative change that is reported in a series.

    For an SLA, only a change from met to missed is reported.
    """
    level = abs(detection.segments[-1].level.level) if detection.segments else 0.0
    if level == 0.0:
        return 0.0
    if metric == SLA:
        return max(1.0 - SUSTAINED / level, 0.0)
    return LEAST_CHANGE.get(metric, 0.0) / level
