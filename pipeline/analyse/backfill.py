"""Backfill: which of the revisions that were skipped is measured next, because it tells most.

A branch that is followed night by night has gaps: commits that were never measured, between those
that were. First comes what narrows a known change, chosen by :class:`changepoint.Bisection` from
the figures that are stored; then the ends of what was asked for; then the widest gap, halved. So
whatever stops it leaves the line evenly covered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from changepoint import Bisection
from pipeline.analyse.bisect import BUILD_COST, RANGE
from pipeline.analyse.regressions import clearest
from pipeline.errors import UserError
from pipeline.model import Regression, RegressionKind, RegressionState, Series, SeriesKey
from pipeline.units import counted

WITNESSES = 20
"""Measured revisions on either side of a change that tell its levels. Few, because a machine
drifts; but more than a search measures, so that, where the change point is some positions off, the
one side is not pushed out by what is measured of the other."""

FIGURES = 3
"""Series that are searched together, those that changed most: others add noise of the same runs."""

NEVER = 1e9
"""Cost, in runs, of what is not to be chosen."""

_OPEN = (RegressionState.CONFIRMED, RegressionState.SUSPECTED)
"""States in which it matters where a change is, in the order in which it does."""

Run = Mapping[str, float]
"""Figures of one run, by the series that they are of."""


@dataclass(frozen=True)
class Doubt:
    """A known change: its first bad revision is after ``good`` and up to ``bad``.

    ``runs`` are those of the measured revisions around it, by place, those of both included; none
    where it cannot be told from figures. The smallest ``rank`` comes first.
    """

    fingerprint: str
    rank: tuple[int, int]
    good: int
    bad: int
    runs: Mapping[int, Sequence[Run]]


@dataclass(frozen=True)
class Gaps:
    """What is known of a line whose revisions are ``labels``, in order; their places are indices.

    ``dead`` are those that do not build. What is chosen lies in ``asked``; with ``ends`` it is
    measured from end to end, else only between what is measured. ``built`` says whether a build is
    there.
    """

    line: str
    labels: tuple[str, ...]
    measured: frozenset[int]
    dead: frozenset[int]
    asked: range
    ends: bool
    built: Callable[[int], bool]
    doubts: tuple[Doubt, ...] = ()

    def open(self, first: int, last: int) -> list[int]:
        """Return the places that could be measured, from ``first`` to ``last``, ascending."""
        within = range(max(first, self.asked.start), min(last + 1, self.asked.stop))
        return [at for at in within if at not in self.measured and at not in self.dead]

    def left(self) -> int:
        """Return how many revisions could be measured."""
        marks = [at for at in self.measured if at in self.asked]
        if self.ends:
            return len(self.open(0, len(self.labels)))
        return len(self.open(min(marks), max(marks))) if marks else 0


@dataclass(frozen=True)
class Choice:
    """The revision of a line that is measured next, and why; because of a doubt, which."""

    line: str
    label: str
    place: int
    why: str
    doubt: str = ""


def choose(lines: Sequence[Gaps]) -> Choice | None:
    """Return what is measured next; None where nothing is left."""
    doubts = sorted(
        ((doubt, gaps) for gaps in lines for doubt in gaps.doubts), key=lambda pair: pair[0].rank
    )
    for doubt, gaps in doubts:
        choice = _narrowing(gaps, doubt)
        if choice is not None:
            return choice
    return next((choice for gaps in lines if (choice := _end(gaps))), None) or _halving(lines)


def outlook(lines: Sequence[Gaps]) -> Iterator[Choice]:
    """Yield what is measured one after another, so far as it can be foretold.

    Of a doubt that is only the first revision: which is next depends on what is measured.
    """
    while (choice := choose(lines)) is not None:
        yield choice
        lines = [
            replace(
                gaps,
                measured=gaps.measured | {choice.place},
                doubts=tuple(each for each in gaps.doubts if each.fingerprint != choice.doubt),
            )
            if gaps.line == choice.line
            else gaps
            for gaps in lines
        ]


def doubts_of(
    regressions: Sequence[Regression], series: Sequence[Series], line: str, labels: Sequence[str]
) -> tuple[Doubt, ...]:
    """Return the changes of a line that are suspected or confirmed, with the figures about them.

    Those whose culprit an experiment has named are known better than by filling a gap.
    ``regressions`` are worst first, improvements last, as a detection returns them; ``series`` are
    those that were searched.
    """
    places = {label: place for place, label in enumerate(labels)}
    by_key = {one.key: one for one in series}
    return tuple(
        Doubt(
            fingerprint=one.fingerprint,
            rank=(_OPEN.index(one.state), number),
            good=places[one.last_good],
            bad=places[one.first_bad],
            runs=_around(one, regressions, by_key, places),
        )
        for number, one in enumerate(regressions)
        if one.line == line
        and one.state in _OPEN
        and (one.culprit is None or not one.culprit.confirmed)
        and one.last_good in places
        and one.first_bad in places
    )


def _around(
    regression: Regression,
    regressions: Sequence[Regression],
    series: Mapping[SeriesKey, Series],
    places: Mapping[str, int],
) -> Mapping[int, Sequence[Run]]:
    """Return the runs that tell where a change is; none if there are not some on both sides."""
    if regression.kind is not RegressionKind.LEVEL:
        return {}
    try:
        changed = {shift.series for shift in clearest(regression, FIGURES)}
    except UserError:
        return {}
    chosen = [series[key] for key in changed if key in series]
    found = _runs(chosen, places)
    good, bad = places[regression.last_good], places[regression.first_bad]
    # Another change of these series bounds what is at the one level or the other.
    others = [
        places[shift.first_bad]
        for other in regressions
        if other is not regression
        for shift in other.shifts
        if shift.series in changed and shift.first_bad in places
    ]
    first = max((at for at in others if at <= good), default=0)
    last = min((at for at in others if at > bad), default=len(places)) - 1
    before = [at for at in found if first <= at <= good][-WITNESSES:]
    after = [at for at in found if bad <= at <= last][:WITNESSES]
    if not (before and after):
        return {}
    return {at: runs for at, runs in found.items() if before[0] <= at <= after[-1]}


def _runs(series: Sequence[Series], places: Mapping[str, int]) -> dict[int, list[Run]]:
    """Return the runs that have a figure above zero of each series, by place, ascending."""
    figures: dict[tuple[int, str], dict[str, float]] = {}
    for one in series:
        for point in one.points:
            if point.revision in places and point.value > 0:
                run = figures.setdefault((places[point.revision], point.run_id), {})
                run[_name(one)] = point.value
    found: dict[int, list[Run]] = {}
    for (place, _), run in sorted(figures.items()):
        if len(run) == len(series):
            found.setdefault(place, []).append(run)
    return found


def _name(series: Series) -> str:
    return f"{series.key.step} {series.key.metric}"


def _narrowing(gaps: Gaps, doubt: Doubt) -> Choice | None:
    """Return the revision that tells most of where a change is; None where none tells more."""
    if not doubt.runs:
        within = gaps.open(doubt.good + 1, doubt.bad - 1)
        return _told(gaps, doubt, _middle(gaps, within), doubt.good, doubt.bad) if within else None
    first, last = min(doubt.runs), max(doubt.runs)
    names = tuple(doubt.runs[first][0])
    # The runs are of many nights.
    bisection = Bisection(last - first + 1, names, in_order=False)
    for at, runs in doubt.runs.items():
        for run in runs:
            bisection.add(at - first, run)
    could = set(gaps.open(first, last))
    for at in range(first, last + 1):
        if at not in could and at not in doubt.runs:
            bisection.skip(at - first)
    place = bisection.range(RANGE)
    good, bad = first + place.last_good, first + place.first_bad
    within = gaps.open(good, bad)
    costs = [NEVER] * (last - first + 1)
    for at in within:
        costs[at - first] = 0.0 if gaps.built(at) else BUILD_COST
    # Where the figures of both sides are alike it is an end, which was measured.
    best = first + bisection.next(costs)
    return _told(gaps, doubt, best, good, bad) if best in within else None


def _told(gaps: Gaps, doubt: Doubt, place: int, good: int, bad: int) -> Choice:
    why = (
        f"{doubt.fingerprint} is after {gaps.labels[good]} and up to {gaps.labels[bad]}, "
        f"{counted(bad - good, 'revision')}"
    )
    return _choice(gaps, place, why, doubt.fingerprint)


def _end(gaps: Gaps) -> Choice | None:
    """Return the first or the last revision that was asked for, if nothing beyond is measured."""
    if not gaps.ends:
        return None
    left = gaps.open(0, len(gaps.labels))
    marks = [at for at in gaps.measured if at in gaps.asked]
    if left and left[0] < min(marks, default=len(gaps.labels)):
        return _choice(gaps, left[0], "the first that was asked for")
    if left and left[-1] > max(marks):
        return _choice(gaps, left[-1], "the last that was asked for")
    return None


def _halving(lines: Sequence[Gaps]) -> Choice | None:
    """Return the middle of the widest gap; of several the newest."""
    widest: tuple[int, Gaps, list[int], int, int] | None = None
    for gaps in lines:
        for first, last in pairwise(sorted(at for at in gaps.measured if at in gaps.asked)):
            within = gaps.open(first + 1, last - 1)
            if within and (widest is None or len(within) >= widest[0]):
                widest = len(within), gaps, within, first, last
    if widest is None:
        return None
    size_of, gaps, within, first, last = widest
    why = (
        f"in the widest gap, {counted(size_of, 'revision')} between {gaps.labels[first]} and "
        f"{gaps.labels[last]}"
    )
    return _choice(gaps, _middle(gaps, within), why)


def _middle(gaps: Gaps, within: Sequence[int]) -> int:
    """Return the middle one of the places, or the one beside it if only that is built."""
    middle = (len(within) - 1) / 2
    near = {within[math.floor(middle)], within[math.ceil(middle)]}
    return max(near, key=lambda at: (gaps.built(at), at))


def _choice(gaps: Gaps, place: int, why: str, doubt: str = "") -> Choice:
    return Choice(gaps.line, gaps.labels[place], place, why, doubt)
