"""Layout trials: run both sides of a slowdown at equal instructions in other layouts.

If a difference in time appears or disappears when the same code lies at other addresses, it belongs
to the layout and not to the code. Pure logic over a
:class:`pipeline.experiments.experiment.Runner`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from enum import StrEnum

from pipeline.experiments.experiment import Figure, Runner
from pipeline.explain.trial import EXPLAINS, TrialBlocks, TrialOutcome, share_taken_back
from pipeline.measure.layouts import FLAGS, with_layout
from pipeline.model import Cell, Frozen
from pipeline.text.units import plural, show_figure


class LayoutOutcome(StrEnum):
    """The result of a layout trial."""

    MOVES = "moves with the layout"
    STAYS = "is the same in every layout"
    UNDECIDED = "undecided"
    GONE = "was not seen again"


class LayoutShare(Frozen):
    """A revision in another layout, and where its level lies between both sides of the change.

    ``share`` is 0 at the level before the change and 1 at the level after it, on a logarithmic
    scale, with its interval. ``old`` is true for the revision before the change.
    """

    revision: str
    build_options: str
    old: bool
    share: float
    low: float
    high: float

    @property
    def moved(self) -> bool:
        """Whether the layout alone causes at least half of the change."""
        if self.old:
            return self.share >= EXPLAINS and self.low > 0.0
        return self.share <= 1.0 - EXPLAINS and self.high < 1.0

    @property
    def stayed(self) -> bool:
        """Whether the level is surely nearer to that of the same revision in its usual layout."""
        return self.high < EXPLAINS if self.old else self.low > 1.0 - EXPLAINS

    def sentence(self) -> str:
        """Format the level of the revision in this layout as a sentence of evidence."""
        return (
            f"{self.revision} ({self.build_options}) is at {self.share:.0%} of the change "
            f"(95 % interval {self.low:.0%} to {self.high:.0%})"
        )


class CacheMisses(Frozen):
    """Misses per operation of the simulated caches on both sides."""

    metric: str
    before: float
    after: float

    @property
    def growth(self) -> float:
        """The logarithm of the ratio of misses, after to before; 0 if a side has none."""
        both = self.before > 0 and self.after > 0
        return math.log(self.after / self.before) if both else 0.0

    def sentence(self) -> str:
        """Format the change of the simulated cache misses as a sentence of evidence."""
        return (
            f"simulated {self.metric} {show_figure(self.before)} -> {show_figure(self.after)} "
            f"({math.expm1(self.growth):+.1%})"
        )


class LayoutTrial(Frozen):
    """The result of a layout trial of two revisions, measured by one metric of a step.

    ``blocks`` is how often each layout ran. ``shares`` has an entry for each other layout.
    ``misses`` are those of a cache simulation, if the step is counted on this machine class.
    """

    last_good: str
    first_bad: str
    step: str
    metric: str
    outcome: LayoutOutcome
    blocks: int
    shares: tuple[LayoutShare, ...] = ()
    misses: tuple[CacheMisses, ...] = ()

    @property
    def moves(self) -> bool:
        """Whether the trial proves that the change is caused by the layout."""
        return self.outcome is LayoutOutcome.MOVES

    def sentences(self) -> tuple[str, ...]:
        """Return sentences of evidence: the outcome, layouts that moved the level, cache misses."""
        moved = tuple(share.sentence() for share in self.shares if share.moved)
        return (
            f"the change of {self.metric} {self.outcome.value} ({plural(self.blocks, 'block')} "
            f"with {plural(len(self.shares), 'other layout')})",
            *moved,
            *(each.sentence() for each in self.misses),
        )


def try_layouts(
    runner: Runner,
    before: Cell,
    after: Cell,
    figure: Figure,
    blocks: int,
    seconds: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
) -> LayoutTrial:
    """Run both sides in their usual layout and in other ones, in blocks of alternating order.

    The first block always runs. A further block does not begin if it would probably end after
    ``seconds``; a later call resumes there. Raises as :meth:`Runner.measure` does.
    """
    measured = TrialBlocks(runner, seconds, clock)
    # The layouts lie between both sides, so that a drift affects all alike.
    others = [in_layout(cell, at) for at in _numbers() for cell in (before, after)]
    cells = (before, *others, after)
    runs: dict[str, list[float]] = {cell.key: [] for cell in cells}
    done = 0
    while done < blocks and (block := measured.measure(cells, turned=done % 2 == 1)) is not None:
        done += 1
        for key, figures in block.items():
            if figure in figures:
                runs[key].append(figures[figure])
    shares = tuple(
        found
        for cell in others
        if (found := _share(runs, before, after, cell, figure.metric)) is not None
    )
    return LayoutTrial(
        last_good=before.revision.label,
        first_bad=after.revision.label,
        step=figure.step,
        metric=figure.metric,
        outcome=_outcome(shares, len(others), measured.over),
        blocks=done,
        shares=shares,
    )


def in_layout(cell: Cell, number: int) -> Cell:
    """Return a cell with its build in another layout."""
    return cell.model_copy(update={"build_options": with_layout(cell.build_options, number)})


def _numbers() -> range:
    return range(1, len(FLAGS) + 1)


def _share(
    runs: dict[str, list[float]], before: Cell, after: Cell, cell: Cell, metric: str
) -> LayoutShare | None:
    old, new, own = runs[before.key], runs[after.key], runs[cell.key]
    if not (old and new and own):
        return None
    found = share_taken_back(old, own, new, metric)
    if found.outcome is TrialOutcome.GONE:
        return None
    if found.share is None or found.low is None or found.high is None:
        return None
    return LayoutShare(
        revision=cell.revision.label,
        build_options=cell.build_options,
        old=cell.revision == before.revision,
        share=1.0 - found.share,
        low=1.0 - found.high,
        high=1.0 - found.low,
    )


def _outcome(shares: Sequence[LayoutShare], layouts: int, over: bool) -> LayoutOutcome:
    if not shares:
        return LayoutOutcome.UNDECIDED if over else LayoutOutcome.GONE
    if any(share.moved for share in shares):
        return LayoutOutcome.MOVES
    if len(shares) == layouts and all(share.stayed for share in shares):
        return LayoutOutcome.STAYS
    return LayoutOutcome.UNDECIDED
