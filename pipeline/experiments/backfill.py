"""Choose which skipped revision of a line to measure next: the most informative one.

A branch measured once a night has gaps: unmeasured commits between measured ones. Revisions that
narrow a known change come first; :class:`changepoint.Bisection` chooses them from the stored
figures. The ends of the requested range come next, and then the middle of the widest gap. The line
is therefore evenly covered whenever backfill stops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from changepoint import Bisection
from pipeline.experiments.bisect import BUILD_COST, RANGE
from pipeline.model import Regression, RegressionKind, RegressionState, SeriesKey
from pipeline.regressions.grouping import clearest
from pipeline.storage.series import Series
from pipeline.text.errors import UserError
from pipeline.text.units import plural

WITNESSES = 20
"""Measured revisions on each side of a change that define its levels. They are few, because a
machine drifts, but more than a search measures: if the change point is some positions off, new
measurements on one side of it must not displace the known ones."""

FIGURES = 3
"""Number of series searched together, those with the largest changes. More series of the same runs
add noise rather than evidence."""

NEVER = 1e9
"""The cost, in runs, of a revision that must not be chosen."""

_OPEN = (RegressionState.CONFIRMED, RegressionState.SUSPECTED)
"""States in which the position of a change matters, most important first."""

Run = Mapping[str, float]
"""The value of each series in one run."""


@dataclass(frozen=True)
class Doubt:
    """A known change that began somewhere after revision ``good`` and up to ``bad``.

    ``good`` and ``bad`` are places on the line. ``runs`` are the runs of the measured revisions
    around the change, by place, including both ends; empty if the figures cannot locate the change.
    The doubt with the smallest ``rank`` is narrowed first.
    """

    fingerprint: str
    rank: tuple[int, int]
    good: int
    bad: int
    runs: Mapping[int, Sequence[Run]]


@dataclass(frozen=True)
class Gaps:
    """Which revisions of a line are measured and which are not; places are indices into ``labels``.

    ``dead`` are revisions that do not build. Only revisions in the range ``asked`` are chosen;
    without ``ends``, only those between two measured revisions of the range. ``built`` returns
    whether a revision has a build.
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
        """Return the places of unmeasured revisions from ``first`` to ``last``, ascending."""
        within = range(max(first, self.asked.start), min(last + 1, self.asked.stop))
        return [at for at in within if at not in self.measured and at not in self.dead]

    def left(self) -> int:
        """Return how many unmeasured revisions of the line can be measured."""
        marks = [at for at in self.measured if at in self.asked]
        if self.ends:
            return len(self.open(0, len(self.labels)))
        return len(self.open(min(marks), max(marks))) if marks else 0


@dataclass(frozen=True)
class Choice:
    """The revision of a line to measure next, and the reason."""

    line: str
    label: str
    place: int
    why: str
    doubt: str = ""


def choose(lines: Sequence[Gaps]) -> Choice | None:
    """Return the revision of a line to measure next; None if all are measured."""
    doubts = sorted(
        ((doubt, gaps) for gaps in lines for doubt in gaps.doubts), key=lambda pair: pair[0].rank
    )
    for doubt, gaps in doubts:
        choice = _narrowing(gaps, doubt)
        if choice is not None:
            return choice
    return next((choice for gaps in lines if (choice := _end(gaps))), None) or _halving(lines)


def planned_choices(lines: Sequence[Gaps]) -> Iterator[Choice]:
    """Yield the revisions to measure, in order, up to the first choice that needs a new result.

    Each known change contributes only one revision, because the next one depends on its
    measurement. Revisions that fill gaps follow.
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
    """Return a line's suspected and confirmed changes, with the values measured around each.

    Changes with a confirmed culprit are left out: filling a gap cannot locate them better.
    ``regressions`` are worst first, improvements last, as a detection returns them; ``series`` are
    those that detection searches.
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
    """Return the nearest runs before and after a change, by position on the branch.

    Runs beyond another change of the same series are left out. Empty unless there are runs on both
    sides.
    """
    if regression.kind is not RegressionKind.LEVEL:
        return {}
    try:
        changed = {shift.series for shift in clearest(regression, FIGURES)}
    except UserError:
        return {}
    chosen = [series[key] for key in changed if key in series]
    found = _runs(chosen, places)
    good, bad = places[regression.last_good], places[regression.first_bad]
    # Other changes of these series limit the runs at either level.
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
    """Return the runs that have a positive value in every series, by place, ascending."""
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
    """Return the revision that narrows the place of a change most; None if none does."""
    if not doubt.runs:
        within = gaps.open(doubt.good + 1, doubt.bad - 1)
        return (
            _narrowing_choice(gaps, doubt, _middle(gaps, within), doubt.good, doubt.bad)
            if within
            else None
        )
    first, last = min(doubt.runs), max(doubt.runs)
    names = tuple(doubt.runs[first][0])
    # The runs are of many nights, so their order says nothing.
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
    # If both sides look alike, the choice is an end, which is already measured.
    best = first + bisection.next(costs)
    return _narrowing_choice(gaps, doubt, best, good, bad) if best in within else None


def _narrowing_choice(gaps: Gaps, doubt: Doubt, place: int, good: int, bad: int) -> Choice:
    why = (
        f"the cause of {doubt.fingerprint} lies after {gaps.labels[good]} and up to "
        f"{gaps.labels[bad]} ({plural(bad - good, 'revision')})"
    )
    return _choice(gaps, place, why, doubt.fingerprint)


def _end(gaps: Gaps) -> Choice | None:
    """Return the first or last requested revision, if it lies beyond all measured ones."""
    if not gaps.ends:
        return None
    left = gaps.open(0, len(gaps.labels))
    marks = [at for at in gaps.measured if at in gaps.asked]
    if left and left[0] < min(marks, default=len(gaps.labels)):
        return _choice(gaps, left[0], "the revision given by --since")
    if left and left[-1] > max(marks):
        return _choice(gaps, left[-1], "the revision given by --until")
    return None


def _halving(lines: Sequence[Gaps]) -> Choice | None:
    """Return the middle of the widest gap between measured revisions; the newest of equal gaps."""
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
        f"the widest gap: {plural(size_of, 'unmeasured revision')} between {gaps.labels[first]} "
        f"and {gaps.labels[last]}"
    )
    return _choice(gaps, _middle(gaps, within), why)


def _middle(gaps: Gaps, within: Sequence[int]) -> int:
    """Return the middle place of a gap; of two middle places, return one that has a build."""
    middle = (len(within) - 1) / 2
    near = {within[math.floor(middle)], within[math.ceil(middle)]}
    return max(near, key=lambda at: (gaps.built(at), at))


def _choice(gaps: Gaps, place: int, why: str, doubt: str = "") -> Choice:
    return Choice(gaps.line, gaps.labels[place], place, why, doubt)
