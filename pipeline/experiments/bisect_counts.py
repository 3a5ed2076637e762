"""Bisect by instruction counts: a plain binary search, because one counted run is exact.

A revision counts as good if its count is nearer to that of the good end, on a logarithmic scale,
and otherwise as bad. Finally, new runs compare the culprit with its parent, and the ranges on
either side are searched if their ends differ, too. The search resumes as
:func:`pipeline.experiments.bisect.bisect` does.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence

from changepoint import Verdict, exact_effect, is_exact_change
from pipeline.experiments.bisect import Bisected, LocatedChange, RevisionDifference
from pipeline.experiments.experiment import Figure, Figures, Runner
from pipeline.measure.build import NotBuiltError
from pipeline.model import Cell
from pipeline.model.counts import FLOOR
from pipeline.model.metrics import is_worse
from pipeline.text.errors import UserError, first_line
from pipeline.text.units import plural

SURE = 0.99
"""Reported probability of a culprit or a range. It is below 1 although counts are exact, because
builds may differ by chance."""


def bisect_counts(
    cells: Sequence[Cell],
    figures: Sequence[Figure],
    runner: Runner,
    say: Callable[[str], None],
    *,
    smallest: float,
    seconds: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
    known: tuple[Figures, Figures] | None = None,
) -> Bisected:
    """Find the culprits among counted revisions in order, from a good one to a bad one.

    Args:
        cells: at least two cells of one line that differ only in the revision.
        figures: figures that may differ; those missing at either end are left out.
        runner: measures the cells.
        say: receives one line about each next action and its reason.
        smallest: smallest relative change that matters.
        seconds: time after which the search ends with its current result.
        clock: returns the current time in seconds.
        known: figures of the two ends, if they were counted before.

    Raises:
        UserError: an end cannot be measured.
    """
    if len(cells) < 2:
        raise UserError(
            "good and bad are the same revision: nothing to bisect; name two different revisions"
        )
    search = _HalvingSearch(cells, figures, runner, say, smallest, clock, clock() + seconds)
    last = len(cells) - 1
    search.begin(known)
    found = tuple(search.changes(0, last))
    return Bisected(
        good=cells[0].revision.label,
        bad=cells[-1].revision.label,
        found=found,
        ends=search.between(0, last),
        builds=search.builds,
        runs=search.runs,
    )


class _HalvingSearch:
    """A binary search in progress: the instruction counts of the revisions so far."""

    def __init__(
        self,
        cells: Sequence[Cell],
        figures: Sequence[Figure],
        runner: Runner,
        say: Callable[[str], None],
        smallest: float,
        clock: Callable[[], float],
        deadline: float,
    ) -> None:
        self._cells, self._figures, self._runner, self._say = cells, figures, runner, say
        self._smallest, self._clock, self._deadline = smallest, clock, deadline
        self._levels: dict[int, Figures] = {}
        self._dead: set[int] = set()
        self._asked: set[int] = set()
        self._attempts = [0] * len(cells)
        self.runs = 0

    @property
    def builds(self) -> int:
        """How many revisions the search has asked to build."""
        return len(self._asked)

    def begin(self, known: tuple[Figures, Figures] | None) -> None:
        """Count the good and the bad end. Raises UserError if one cannot be measured."""
        ends = (0, len(self._cells) - 1)
        for place, at in enumerate(ends):
            if known is not None:
                self._levels[at] = known[place]
            elif not self._count(at, ()):
                raise UserError(
                    f"the instructions of {self._label(at)} cannot be counted; name another "
                    "revision"
                )
        common = [
            figure
            for figure in self._figures
            if all(self._levels[at].get(figure, 0.0) > 0.0 for at in ends)
        ]
        if not common:
            names = " and ".join(map(self._label, ends))
            raise UserError(
                f"the counted runs of {names} have no metric in common; name another step"
            )
        self._figures = common

    def changes(self, good: int, bad: int) -> Iterator[LocatedChange]:
        """Find the changes between two counted revisions, in order."""
        differing = self._differing(self.between(good, bad))
        if not differing:
            return
        parent, culprit = self._narrowed(good, bad, differing)
        if self._candidates(parent, culprit):
            yield self._found(parent, culprit, self.between(parent, culprit), False)
            return
        rows = self._compared_again(parent, culprit)
        if not self._differing(rows):
            # A creep: each step is smaller than what matters.
            yield self._found(good, bad, self.between(good, bad), False)
            return
        yield from self.changes(good, parent)
        yield self._found(parent, culprit, rows, True)
        yield from self.changes(culprit, bad)

    def between(self, good: int, bad: int) -> tuple[RevisionDifference, ...]:
        """Return by how much all counts differ between two revisions, largest first."""
        return self._rows(self._levels[good], self._levels[bad])

    def _narrowed(self, good: int, bad: int, figures: Sequence[Figure]) -> tuple[int, int]:
        """Halve the range until only two revisions are left, or the time is up."""
        first, last = self._levels[good], self._levels[bad]
        parent, culprit = good, bad
        while (inside := self._candidates(parent, culprit)) and self._clock() < self._deadline:
            middle = (parent + culprit) / 2
            at = min(inside, key=lambda place: abs(place - middle))
            self._say(
                f"measuring {self._label(at)} next: the culprit is after {self._label(parent)} and "
                f"up to {self._label(culprit)} ({plural(culprit - parent, 'revision')})"
            )
            if at not in self._levels and not self._count(at, self._figures):
                continue
            if self._distance(at, first, figures) < self._distance(at, last, figures):
                parent = at
            else:
                culprit = at
        return parent, culprit

    def _candidates(self, parent: int, culprit: int) -> list[int]:
        return [at for at in range(parent + 1, culprit) if at not in self._dead]

    def _distance(self, at: int, level: Figures, figures: Sequence[Figure]) -> float:
        own = self._levels[at]
        return sum(abs(math.log(own[figure] / level[figure])) for figure in figures)

    def _compared_again(self, parent: int, culprit: int) -> tuple[RevisionDifference, ...]:
        """Compare two revisions that have builds, in new runs."""
        self._say(
            f"counting the instructions of {self._label(parent)} and {self._label(culprit)} again"
        )
        again = [self._measured(at) or self._levels[at] for at in (parent, culprit)]
        return self._rows(again[0], again[1])

    def _count(self, at: int, needed: Sequence[Figure]) -> bool:
        """Count the instructions of a revision; return whether all needed counts are available."""
        found = self._measured(at)
        if found is None or any(found.get(figure, 0.0) <= 0.0 for figure in needed):
            self._dead.add(at)
            return False
        self._levels[at] = found
        return True

    def _measured(self, at: int) -> Figures | None:
        self._asked.add(at)
        try:
            run = self._runner.measure(self._cells[at], self._attempts[at] + 1)
        except NotBuiltError as error:
            self._say(f"{self._label(at)} is skipped: its build failed ({first_line(error)})")
            return None
        self._attempts[at] += 1
        self.runs += 1
        return run

    def _rows(self, good: Figures, bad: Figures) -> tuple[RevisionDifference, ...]:
        rows = [
            RevisionDifference(
                step=figure.step,
                metric=figure.metric,
                effect=(effect := exact_effect(good[figure], bad[figure])),
                interval=(effect - FLOOR, effect + FLOOR),
                verdict=self._verdict(figure, effect),
            )
            for figure in self._figures
            if figure in good and figure in bad
        ]
        return tuple(sorted(rows, key=lambda row: -abs(row.effect)))

    def _verdict(self, figure: Figure, effect: float) -> Verdict:
        if not is_exact_change(effect, floor=FLOOR, min_effect=self._smallest):
            return "same"
        return "worse" if is_worse(figure.metric, effect) else "better"

    @staticmethod
    def _differing(rows: Sequence[RevisionDifference]) -> list[Figure]:
        return [Figure(row.step, row.metric) for row in rows if row.verdict != "same"]

    def _found(
        self, parent: int, culprit: int, rows: tuple[RevisionDifference, ...], confirmed: bool
    ) -> LocatedChange:
        return LocatedChange(
            culprit=self._label(culprit),
            parent=self._label(parent),
            between=tuple(self._label(at) for at in range(parent + 1, culprit)),
            probability=SURE,
            confirmed=confirmed,
            rows=rows,
        )

    def _label(self, at: int) -> str:
        return self._cells[at].revision.label
