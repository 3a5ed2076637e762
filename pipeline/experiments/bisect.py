"""Bisect: find the revision between a good and a bad one that changed the measured figures.

The search first shows that the ends differ. :class:`changepoint.Bisection` then chooses the
revisions to measure. Finally, new runs compare the culprit with its parent, and the ranges on
either side of it are searched in the same way. The module only decides what to measure; a Runner
measures. The runner numbers the attempts of a cell from 1 and returns the figures of an existing
attempt, so a killed search resumes when it is started again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from changepoint import (
    Better,
    Bisection,
    CulpritRange,
    GroupSequential,
    SequentialDecision,
    Verdict,
)
from pipeline.experiments.experiment import Figure, Figures, Runner
from pipeline.experiments.interleaved import MISSED
from pipeline.measure.build import NotBuiltError
from pipeline.model import Cell, Frozen
from pipeline.model.metrics import METRICS, Direction
from pipeline.text.errors import UserError, first_line
from pipeline.text.units import plural

BUILD_COST = 4.0
"""Cost of a missing build, in runs. An incremental compilation takes minutes, as a few runs do."""

MOST_BLOCKS = 60
"""Pairs of runs after which two revisions count as undecided: as many runs as a confirmation may
take. The error probability is spread over all pairs, so unused pairs cost power."""

FIRST_LOOK = 6
"""Pairs before the first test of a difference. The search compares all other revisions with the
levels of its ends, and figures with a small difference need several pairs to show it."""

REMAINDER, FEWEST_REMAINING = 2, 20
"""Maximum pairs of runs for comparing the ends of the range on either side of a culprit:
``REMAINDER`` times the pairs that showed the original ends to differ, and at least
``FEWEST_REMAINING``. The pairs needed grow with the inverse square of a change, so a change of 0.7
of the original difference is still found."""

MOST_RUNS = 600
"""Runs after which a search ends with its current result."""

TRIES = 2
"""Consecutive runs without figures after which a revision is not measured any more."""

RANGE = 0.95
"""Probability that the reported range contains the culprit."""

Outcome = Literal["culprit", "range", "no change", "undecided"]

_Needed = Callable[[Iterable[bool]], bool]
"""How many of the figures a run must have to be used: ``any`` of them, or ``all``."""


class RevisionDifference(Frozen):
    """By how much one metric of a step differs between two revisions, with its interval."""

    step: str
    metric: str
    effect: float
    interval: tuple[float, float]
    verdict: Verdict


class LocatedChange(Frozen):
    """A change that was located: between which two revisions it lies, and its effect.

    ``culprit`` is the first bad revision and ``parent`` the last good one. ``between`` are
    revisions that may also be the culprit: they cannot be measured, or the search ended early. If
    ``confirmed``, new runs compared parent and culprit, and ``rows`` are from those runs.
    """

    culprit: str
    parent: str
    between: tuple[str, ...]
    probability: float
    confirmed: bool
    rows: tuple[RevisionDifference, ...]


class Bisected(Frozen):
    """The outcome of a bisection: the located changes, and what they cost to find.

    ``found`` is in line order, and empty if the ends were not shown to differ. ``ends`` compares
    good and bad. ``builds`` counts the requested revisions, including those that do not build;
    ``runs`` counts all runs.
    """

    good: str
    bad: str
    found: tuple[LocatedChange, ...]
    ends: tuple[RevisionDifference, ...]
    builds: int
    runs: int

    @property
    def outcome(self) -> Outcome:
        """What the bisection found: a culprit, only a range of revisions, or no change.

        It is undecided if the ends were shown neither to differ nor to be the same.
        """
        if not self.found:
            same = all(row.verdict == "same" for row in self.ends)
            return "no change" if same else "undecided"
        return "culprit" if any(each.confirmed for each in self.found) else "range"

    @property
    def worst(self) -> LocatedChange | None:
        """The largest change found, of the confirmed ones if there are any."""
        return max(
            self.found,
            key=lambda each: (each.confirmed, max(abs(row.effect) for row in each.rows)),
            default=None,
        )


def bisect(
    cells: Sequence[Cell],
    figures: Sequence[Figure],
    runner: Runner,
    say: Callable[[str], None],
    *,
    smallest: float = 0.03,
    confidence: float = 0.99,
    seconds: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
) -> Bisected:
    """Find the culprits among the cells of consecutive revisions, from a good one to a bad one.

    Args:
        cells: at least two cells of one line that differ only in the revision.
        figures: figures that may differ; those missing at either end are left out.
        runner: measures the cells.
        say: receives one line about each next action and its reason.
        smallest: smallest relative change that matters.
        confidence: confidence of each comparison, over all figures, and of the culprit's place.
        seconds: time after which the search ends with its current result.
        clock: returns the current time in seconds.

    Raises:
        UserError: an end cannot be measured.
    """
    if len(cells) < 2:
        raise UserError(
            "good and bad are the same revision: nothing to bisect; name two different revisions"
        )
    search = _Search(cells, runner, say, smallest, confidence, clock, clock() + seconds)
    last = len(cells) - 1
    # A workload may lack some of the watched metrics.
    ends = search.compare(0, last, figures, any)
    found = tuple(search.changes(0, last, ends))
    return Bisected(
        good=cells[0].revision.label,
        bad=cells[-1].revision.label,
        found=found,
        ends=ends.rows(),
        builds=search.builds,
        runs=search.runs,
    )


class _Comparison:
    """A comparison of one metric of a step between two revisions, run by run.

    As in :mod:`pipeline.experiments.interleaved`, there are two error probabilities. The one of
    wrongly reporting a difference is small. The one of wrongly excluding a change of just the
    smallest effect is larger, because larger changes are missed far more rarely.
    """

    def __init__(self, better: Better, smallest: float, wrong: float, limit: int) -> None:
        self._change, self._exclusion = (
            GroupSequential(
                smallest_effect=smallest,
                limit=limit,
                better=better,
                confidence=1.0 - error,
                first_look=FIRST_LOOK,
            )
            for error in (wrong, 2.0 * MISSED)
        )

    def add(self, good: float, bad: float) -> None:
        self._change.add(good, bad)
        self._exclusion.add(good, bad)

    @property
    def decision(self) -> SequentialDecision:
        change, exclusion = self._change.decision, self._exclusion.decision
        shown = change.verdict in ("better", "worse")
        return exclusion if exclusion.verdict == "same" and not shown else change


class _Compared:
    """Two revisions measured in pairs of runs, with the comparison of each metric."""

    def __init__(
        self, figures: Sequence[Figure], smallest: float, confidence: float, limit: int
    ) -> None:
        # The figures share the error (Bonferroni, valid under any dependence). Half of the promised
        # error is used, because t tests are an approximation.
        wrong = (1.0 - confidence) / 2.0 / len(figures)
        self._comparisons = {
            figure: _Comparison(_better(figure), smallest, wrong, limit) for figure in figures
        }
        self.pairs: list[tuple[Figures, Figures]] = []

    def add(self, good: Figures, bad: Figures) -> None:
        self.pairs.append((good, bad))
        for figure, comparison in self._comparisons.items():
            if not comparison.decision.done:
                comparison.add(good[figure], bad[figure])

    @property
    def decisions(self) -> dict[Figure, SequentialDecision]:
        return {figure: each.decision for figure, each in self._comparisons.items()}

    @property
    def differing(self) -> list[Figure]:
        """The metrics that were shown to differ between the two revisions."""
        return [
            figure
            for figure, decision in self.decisions.items()
            if decision.verdict in ("better", "worse")
        ]

    @property
    def done(self) -> bool:
        """Whether a difference was shown, or the comparison of every metric has ended."""
        return bool(self.differing) or all(each.done for each in self.decisions.values())

    def summary(self) -> str:
        """Summarise the comparison of two revisions in a few words."""
        runs = f"after {plural(2 * len(self.pairs), 'run')}"
        if not self.differing:
            return f"are not shown to differ {runs}"
        row = self.rows()[0]
        low, high = row.interval
        effect = f"{row.effect:+.1%} ({low:+.1%} to {high:+.1%})"
        return f"differ {runs}: {row.step} {row.metric} by {effect}"

    def rows(self) -> tuple[RevisionDifference, ...]:
        """The difference of each metric, largest first."""
        rows = [
            RevisionDifference(
                step=figure.step,
                metric=figure.metric,
                effect=decision.effect,
                interval=decision.effect_interval,
                verdict=decision.verdict,
            )
            for figure, decision in self.decisions.items()
        ]
        return tuple(
            sorted(rows, key=lambda row: (row.verdict in ("same", "undecided"), -abs(row.effect)))
        )


class _Search:
    """A bisection in progress: the runs so far, and the revisions that cannot be measured."""

    def __init__(
        self,
        cells: Sequence[Cell],
        runner: Runner,
        say: Callable[[str], None],
        smallest: float,
        confidence: float,
        clock: Callable[[], float],
        deadline: float,
    ) -> None:
        self._cells, self._runner, self._say = cells, runner, say
        self._smallest, self._confidence = smallest, confidence
        self._clock, self._deadline = clock, deadline
        self._attempts = [0] * len(cells)
        self._failures = [0] * len(cells)
        self._dead: dict[int, str] = {}
        self._costs = [0.0 if runner.built(cell) else BUILD_COST for cell in cells]
        self._asked: set[int] = set()
        self.runs = 0

    @property
    def builds(self) -> int:
        """How many revisions the bisection has asked to build."""
        return len(self._asked)

    def compare(
        self,
        good: int,
        bad: int,
        figures: Sequence[Figure],
        needed: _Needed = all,
        limit: int = MOST_BLOCKS,
    ) -> _Compared:
        """Compare two revisions in new pairs of runs, at most ``limit``, until the result is clear.

        New runs are needed because the runs that pointed to a culprit are no independent evidence
        for it. Raises UserError for a revision that cannot be measured.
        """
        names = f"{self._label(good)} and {self._label(bad)}"
        self._say(f"comparing {names}")
        first = self._pair(good, bad, figures, False, needed)
        common = [figure for figure in figures if all(figure in run for run in first)]
        if not common:
            raise UserError(
                f"the runs of {names} have no metric in common; name another step or metric"
            )
        compared = _Compared(common, self._smallest, self._confidence, limit)
        compared.add(*first)
        while not (compared.done or self._spent):
            # Reverse every other pair, so that a drift of the machine cancels.
            backwards = len(compared.pairs) % 2 == 1
            compared.add(*self._pair(good, bad, common, backwards, all))
        self._say(f"{names} {compared.summary()}")
        return compared

    def changes(self, good: int, bad: int, ends: _Compared) -> Iterator[LocatedChange]:
        """Find the changes between two revisions that differ, in order."""
        figures = ends.differing
        if not figures:
            return
        found, parent, culprit, again = self._culprit(good, bad, ends, figures)
        rest = again is not None and self._remains(ends, again, figures)
        # The limit ends the search where noise hides the remaining difference.
        limit = min(max(REMAINDER * len(ends.pairs), FEWEST_REMAINING), MOST_BLOCKS)
        if rest and parent > good and not self._spent:
            left = self.compare(good, parent, figures, limit=limit)
            yield from self.changes(good, parent, left)
        yield found
        if rest and culprit < bad and not self._spent:
            right = self.compare(culprit, bad, figures, limit=limit)
            yield from self.changes(culprit, bad, right)

    def _culprit(
        self, good: int, bad: int, ends: _Compared, figures: Sequence[Figure]
    ) -> tuple[LocatedChange, int, int, _Compared | None]:
        """Search for one culprit, and compare it with the revision before it.

        Returns the located change, the places of parent and culprit, and the comparison that
        confirmed the change, if any.
        """
        bisection = self._begun(good, bad, ends, figures)
        refuted: set[tuple[int, int]] = set()
        while True:
            self._narrow(bisection, good, bad, figures)
            place = bisection.culprit
            parent, culprit = good + place.last_good, good + place.first_bad
            if not place.done or self._spent or (parent, culprit) in refuted:
                break
            # If the ends are neighbours, their comparison exists already.
            again = ends if (parent, culprit) == (good, bad) else None
            again = again or self.compare(parent, culprit, figures)
            if again.differing:
                return self._found(place, good, again.rows(), True), parent, culprit, again
            refuted.add((parent, culprit))
            for runs in again.pairs:
                for at, run in zip((place.last_good, place.first_bad), runs, strict=True):
                    bisection.add(at, _named(run, figures))
        place = bisection.range(RANGE)
        rows = tuple(row for row in ends.rows() if Figure(row.step, row.metric) in figures)
        found = self._found(place, good, rows, False)
        return found, good + place.last_good, good + place.first_bad, None

    def _begun(self, good: int, bad: int, ends: _Compared, figures: Sequence[Figure]) -> Bisection:
        """Begin a search between two revisions, without those that cannot be measured."""
        bisection = Bisection(
            bad - good + 1, tuple(map(_name, figures)), confidence=self._confidence
        )
        for runs in ends.pairs:
            for at, run in zip((0, bad - good), runs, strict=True):
                bisection.add(at, _named(run, figures))
        for at in self._dead:
            if good < at < bad:
                bisection.skip(at - good)
        return bisection

    def _narrow(self, bisection: Bisection, good: int, bad: int, figures: Sequence[Figure]) -> None:
        """Measure the most informative revisions until the culprit is known or a limit reached."""
        while not (bisection.culprit.done or self._spent):
            at = bisection.next(self._costs[good : bad + 1])
            self._say(f"measuring {self._label(good + at)} next: {self._where(bisection, good)}")
            run = self._measure(good + at, figures)
            if run is not None:
                bisection.add(at, _named(run, figures))
            elif good + at in self._dead and at not in bisection.measured:
                bisection.skip(at)

    def _remains(self, ends: _Compared, again: _Compared, figures: Sequence[Figure]) -> bool:
        """Whether the two ends differ by more, or less, than the culprit explains."""
        return any(
            abs(
                math.log1p(ends.decisions[figure].effect)
                - math.log1p(again.decisions[figure].effect)
            )
            >= math.log1p(self._smallest)
            for figure in figures
        )

    def _found(
        self, place: CulpritRange, good: int, rows: tuple[RevisionDifference, ...], confirmed: bool
    ) -> LocatedChange:
        first, last = good + place.last_good, good + place.first_bad
        return LocatedChange(
            culprit=self._label(last),
            parent=self._label(first),
            between=tuple(self._label(at) for at in range(first + 1, last)),
            probability=place.probability,
            confirmed=confirmed,
            rows=rows,
        )

    def _pair(
        self, good: int, bad: int, figures: Sequence[Figure], backwards: bool, needed: _Needed
    ) -> tuple[Figures, Figures]:
        order = (bad, good) if backwards else (good, bad)
        runs = {at: self._sure(at, figures, needed) for at in order}
        return runs[good], runs[bad]

    def _sure(self, at: int, figures: Sequence[Figure], needed: _Needed) -> Figures:
        """Measure a revision that the search needs. Raises UserError if that fails."""
        while at not in self._dead:
            run = self._measure(at, figures, needed)
            if run is not None:
                return run
        raise UserError(
            f"the revision {self._label(at)} cannot be measured: {self._dead[at]}; name another "
            "revision"
        )

    def _measure(self, at: int, figures: Sequence[Figure], needed: _Needed = all) -> Figures | None:
        """Measure a revision once more; return None if it has no build or no result."""
        cell = self._cells[at]
        self._asked.add(at)
        try:
            run = self._runner.measure(cell, self._attempts[at] + 1)
        except NotBuiltError as error:
            self._dead[at] = f"its build failed ({first_line(error)})"
            self._say(f"{self._label(at)} is skipped: {self._dead[at]}")
            return None
        self._costs[at] = 0.0
        self._attempts[at] += 1
        self.runs += 1
        # A ratio needs positive values.
        present = {figure: run[figure] for figure in figures if run.get(figure, 0.0) > 0.0}
        if needed(figure in present for figure in figures):
            self._failures[at] = 0
            return present
        self._failures[at] += 1
        if self._failures[at] >= TRIES:
            self._dead[at] = f"{TRIES} runs in a row produced no {_named_figures(figures)}"
            self._say(f"{self._label(at)} is skipped: {self._dead[at]}")
        return None

    @property
    def _spent(self) -> bool:
        return self.runs >= MOST_RUNS or self._clock() >= self._deadline

    def _label(self, at: int) -> str:
        return self._cells[at].revision.label

    def _where(self, bisection: Bisection, good: int) -> str:
        place = bisection.range(RANGE)
        first, last = good + place.last_good, good + place.first_bad
        return (
            f"the culprit is after {self._label(first)} and up to {self._label(last)} "
            f"(probability {math.floor(100 * place.probability)} %, "
            f"{plural(last - first, 'revision')})"
        )


def _better(figure: Figure) -> Better:
    metric = METRICS.get(figure.metric)
    return "lower" if metric and metric.direction is Direction.LESS_IS_BETTER else "higher"


def _name(figure: Figure) -> str:
    return f"{figure.step} {figure.metric}"


def _named(run: Figures, figures: Sequence[Figure]) -> dict[str, float]:
    return {_name(figure): run[figure] for figure in figures}


def _named_figures(figures: Sequence[Figure]) -> str:
    return ", ".join(f"{figure.metric} of {figure.step}" for figure in figures)
