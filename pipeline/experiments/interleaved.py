"""Compare two cells by running them in turn, block by block, until a question is answered.

A block is three runs, each on a freshly started server: base, head, control; the next block runs
control, head, base. The control is base again, entered as another revision. Head runs between the
two, so a drift within a block cancels; the order alternates, so the first run is not always of the
same side. Head is compared with base and control together. A difference between base and control
shows that the machine itself changed.

Counted cells need neither blocks nor a control: one run of each side is exact.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from pydantic import Field

from changepoint import exact_effect, is_exact_change
from changepoint.comparison.group_sequential import FIRST_LOOK, LARGEST_LIMIT
from pipeline.experiments.comparison_kinds import KINDS
from pipeline.experiments.experiment import Figure, Figures, Runner
from pipeline.model import Cell, Frozen, Mode, RegressionKind
from pipeline.model.counts import FLOOR
from pipeline.model.metrics import is_worse

WRONG = 0.005
"""Probability that any figure is reported as worse although nothing changed. It is half of the
promised 1 %, because t tests are an approximation."""

MISSED = 0.05
"""Probability, per figure, that a change of just the smallest effect is excluded. It may exceed
``WRONG``: larger changes are missed far more rarely."""

BLOCKS = 40
"""Blocks after which unclear figures stay undecided."""

ANEW = 1
"""Maximum number of times that a comparison restarts because the control differed from base. A
restart at most doubles the probability of a wrong report, from ``WRONG`` to the promised 1 %, and
only on a machine that changes all the time."""

FAILURES = 2
"""Blocks after which a figure is given up if none of them has a value of it. A step that fails only
once is therefore retried."""

Way = Literal["worse", "better"]
"""The direction of a suspected change."""

Judgement = Literal[
    "worse", "better", "same", "not worse", "not better", "not shown", "failed", "undecided"
]
"""The verdict on a figure.

``same``: a change of the smallest effect is excluded. ``not worse``, ``not better``: a change in
the requested direction is excluded. ``not shown``: all blocks were measured without showing a
change of a spread or an SLA. ``failed``: the step fails on head, and not on base.
"""


class Pair(Frozen):
    """The two cells to compare, base and head; the control is a copy of base."""

    base: Cell
    head: Cell

    @property
    def mode(self) -> Mode:
        """How both cells are measured: timed or counted."""
        return self.base.workload.mode

    @property
    def control(self) -> Cell:
        """A copy of base, measured as another revision: it shows differences not due to code."""
        taken = {self.base.revision.copy_number, self.head.revision.copy_number}
        return copy_of(self.base, next(n for n in range(2, 5) if n not in taken))


def copy_of(cell: Cell, number: int) -> Cell:
    """Return a numbered copy of a cell: the same build, measured as if it were another revision."""
    revision = cell.revision.model_copy(update={"copy_number": number})
    return cell.model_copy(update={"revision": revision})


class Question(Frozen):
    """What a comparison shall decide, and its limits of time and blocks.

    ``kind`` is what to compare: the level of the figures, the spread of their runs, or whether an
    SLA is met. ``smallest_effect`` is the smallest relative change of a level that matters; for
    spread and SLA, detection's limits apply. Measuring stays within ``seconds`` as far as it is
    predictable; one block is always measured. With ``only``, a figure is done once a change in that
    direction is shown or excluded. If the control differs from base, the comparison restarts up to
    ``anew`` times, within the remaining blocks and seconds.
    """

    figures: tuple[Figure, ...]
    kind: RegressionKind = RegressionKind.LEVEL
    smallest_effect: float = Field(default=0.02, gt=0, lt=1)
    wrong: float = Field(default=WRONG, gt=0, lt=0.25)
    missed: float = Field(default=MISSED, gt=0, lt=0.25)
    blocks: int = Field(default=BLOCKS, ge=FIRST_LOOK, le=LARGEST_LIMIT)
    seconds: float = Field(default=300.0, ge=0)
    only: Way | None = None
    anew: int = Field(default=0, ge=0, le=ANEW)


class FigureVerdict(Frozen):
    """The verdict of a comparison on one metric of a step, with its interval.

    ``effect`` is the relative change from base to head of the level or the spread, or the
    difference in the share of runs that met their SLA. ``interval`` is the interval that the
    verdict rests on. ``smallest_visible`` is the smallest change that these blocks could have
    shown, or infinity. ``blocks`` is the number of blocks with the figure on both sides.
    """

    step: str
    metric: str
    verdict: Judgement
    effect: float
    interval: tuple[float, float]
    smallest_visible: float
    blocks: int
    note: str = ""

    @property
    def loss(self) -> float:
        """The loss as a fraction of the base; negative for an improvement."""
        return abs(self.effect) * (1.0 if is_worse(self.metric, self.effect) else -1.0)


class BlocksResult(Frozen):
    """The result of a comparison in blocks: a verdict on each metric, and what it took.

    ``moved`` lists the figures in which the control differed from base, one sentence each. If there
    are any, the machine changed while measuring, and no row is valid. ``moved_before`` lists the
    same for blocks before a restart, which the rows exclude.
    """

    rows: tuple[FigureVerdict, ...]
    blocks: int
    seconds: float
    moved: tuple[str, ...] = ()
    moved_before: tuple[str, ...] = ()


def interleave(
    runner: Runner,
    pair: Pair,
    question: Question,
    clock: Callable[[], float] = time.monotonic,
) -> BlocksResult:
    """Measure two cells block by block, until the question is answered or a limit is reached.

    A counted pair is measured once. Raises as :meth:`Runner.prepare` does.
    """
    for cell in (pair.base, pair.head):
        runner.prepare(cell)
    if pair.mode is Mode.COUNT:
        return _counted(runner, pair, question, clock)
    trial, longest, began = _Trial(question), 0.0, clock()
    while trial.open:
        before = clock()
        if trial.blocks and before - began + longest > question.seconds:
            break
        trial.add(*measure_block(runner, pair, trial.blocks + 1))
        longest = max(longest, clock() - before)
    return trial.answer(clock() - began)


def _counted(
    runner: Runner, pair: Pair, question: Question, clock: Callable[[], float]
) -> BlocksResult:
    """Count the instructions of both sides once, and once more where a step failed."""
    began = clock()
    blocks: list[Block] = []
    while len(blocks) < FAILURES and not _complete(question, blocks):
        blocks.append(measure_block(runner, pair, len(blocks) + 1))
    return judged(question, blocks, clock() - began, Mode.COUNT)


def _complete(question: Question, blocks: Sequence[Block]) -> bool:
    """Whether both sides have a value of every compared metric."""
    return all(
        any(figure in block[side] for block in blocks)
        for figure in question.figures
        for side in (0, 1)
    )


Block = tuple[Figures, Figures, Figures]
"""The figures of a block: base, head and control. A counted block has no control."""


def judged(
    question: Question, blocks: Iterable[Block], seconds: float, mode: Mode = Mode.TIME
) -> BlocksResult:
    """Answer a question from blocks that were measured before and took ``seconds``.

    The result equals that of :func:`interleave` after measuring the same blocks.
    """
    if mode is Mode.COUNT:
        counted: list[Block] = []
        for block in blocks:
            counted.append(block)
            if _complete(question, counted):
                break
        rows = tuple(_exact_verdict(each, question, counted) for each in question.figures)
        return BlocksResult(rows=rows, blocks=len(counted), seconds=seconds)
    trial = _Trial(question)
    for block in blocks:
        if not trial.open:
            break
        trial.add(*block)
    return trial.answer(seconds)


def _exact_verdict(figure: Figure, question: Question, blocks: Sequence[Block]) -> FigureVerdict:
    """Judge a counted metric from one value of each side, because counts are exact."""
    base, head = (
        next((block[side][figure] for block in blocks if figure in block[side]), None)
        for side in (0, 1)
    )
    verdict: Judgement = "undecided"
    effect, blocks_with_it, note = 0.0, 0, ""
    if base and head is not None:
        effect, blocks_with_it, verdict = exact_effect(base, head), 1, "same"
        if is_exact_change(effect, floor=FLOOR, min_effect=question.smallest_effect):
            verdict = "worse" if is_worse(figure.metric, effect) else "better"
    elif head is None and base is not None:
        verdict, note = "failed", f"no value for head in {len(blocks)} runs"
    elif base is None:
        note = f"no value for {'base' if head is not None else 'either side'}"
    else:
        note = "zero at base: no ratio can be computed"
    return FigureVerdict(
        step=figure.step,
        metric=figure.metric,
        verdict=verdict,
        effect=effect,
        interval=(effect - FLOOR, effect + FLOOR),
        smallest_visible=FLOOR,
        blocks=blocks_with_it,
        note=note,
    )


def measure_block(runner: Runner, pair: Pair, number: int) -> Block:
    """Measure base, head and control once, with the same random keys.

    A counted block is base and head.
    """
    if pair.mode is Mode.COUNT:
        sides = [runner.measure(cell, number) for cell in (pair.base, pair.head)]
        return sides[0], sides[1], {}
    control = pair.control
    order = (pair.base, pair.head, control) if number % 2 else (control, pair.head, pair.base)
    measured = {cell.key: runner.measure(cell, number) for cell in order}
    return measured[pair.base.key], measured[pair.head.key], measured[control.key]


class _Trial:
    """A comparison in progress: the result after the blocks so far."""

    def __init__(self, question: Question) -> None:
        self._question, self._anew = question, question.anew
        self._tracks = self._fresh()
        self._moved: list[str] = []
        self._moved_before: list[str] = []
        self.blocks = 0

    def _fresh(self) -> list[_Track]:
        return [_Track(figure, self._question) for figure in self._question.figures]

    @property
    def open(self) -> bool:
        """Whether another block could change the result of the comparison."""
        unclear = any(track.open for track in self._tracks)
        return self.blocks < self._question.blocks and not self._moved and unclear

    def add(self, base: Figures, head: Figures, control: Figures) -> None:
        """Add the results of one block of runs to the comparison."""
        self.blocks += 1
        for track in self._tracks:
            track.add(base, head, control)
        self._moved = [track.moved for track in self._tracks if track.moved]
        if self._moved and self._anew:
            self._anew -= 1
            self._moved_before, self._moved = self._moved_before + self._moved, []
            self._tracks = self._fresh()

    def answer(self, seconds: float) -> BlocksResult:
        """Return the result of the comparison so far, ``seconds`` after its start."""
        return BlocksResult(
            rows=tuple(track.row() for track in self._tracks),
            blocks=self.blocks,
            seconds=seconds,
            moved=tuple(self._moved),
            moved_before=tuple(self._moved_before),
        )


class _Track:
    """The comparison of one metric of a step, after the blocks so far."""

    def __init__(self, figure: Figure, question: Question) -> None:
        self._figure, self._question = figure, question
        self._kind = KINDS[question.kind](figure.metric, question.smallest_effect, question.blocks)
        # The figures share the error probability: any of them may be wrong.
        share = question.wrong / len(question.figures)
        self._change = self._kind.comparison(1.0 - 2.0 * share)
        self._exclusion = self._kind.comparison(1.0 - 2.0 * question.missed)
        self._control = self._kind.comparison(1.0 - share)
        self._passed = self._failed_on_base = self._failed_on_head = 0
        self._verdict: Judgement = "undecided"
        self.open = True
        self.moved = ""

    def add(self, base: Figures, head: Figures, control: Figures) -> None:
        """Add a block of runs; it is ignored if the metric is decided already."""
        if not self.open:
            return
        found = [each.get(self._figure) for each in (base, head, control)]
        levels = [level for level in found if level is not None]
        if len(levels) < len(found) or not self._kind.has(levels):
            self._skip_figures(found)
            return
        first, measured, again = levels
        self._change.add([first, again], measured)
        self._exclusion.add([first, again], measured)
        drifted = self._control.add(first, again)
        if drifted.verdict in ("better", "worse"):
            effect = self._kind.format_effect(drifted.effect)
            self.moved = (
                f"{self._figure.step} {self._figure.metric}: {effect} between two copies of base"
            )
        self._verdict = self._judge()
        self.open = self._verdict == "undecided"

    def _skip_figures(self, found: Sequence[float | None]) -> None:
        """Count a block without a result, because a value is missing or zero."""
        first, measured, again = found
        self._passed += 1
        self._failed_on_base += None in (first, again)
        self._failed_on_head += measured is None
        if self._change.decision.blocks or self._passed < FAILURES:
            return
        self.open = False
        if self._failed_on_head == self._passed and not self._failed_on_base:
            self._verdict = "failed"

    def _judge(self) -> Judgement:
        change = self._change.decision.verdict
        if change in ("worse", "better"):
            return change
        low, high = self._exclusion.decision.effect_interval
        least, most = self._kind.smallest
        # The limits are inclusive: an excluded SLA effect of one half leaves the interval's end at
        # one half.
        not_less, not_more = low >= least, high <= most
        higher = self._kind.better == "higher"
        not_worse, not_better = (not_less, not_more) if higher else (not_more, not_less)
        if not_worse and not_better:
            return "same"
        if not_worse and self._question.only == "worse":
            return "not worse"
        if not_better and self._question.only == "better":
            return "not better"
        if self._change.decision.done and not self._kind.ends_undecided:
            return "not shown"
        return "undecided"

    def row(self) -> FigureVerdict:
        """Return the verdict on the metric after the blocks so far, with its interval."""
        change = self._change.decision
        excluded = self._verdict in ("same", "not worse", "not better")
        deciding = self._exclusion.decision if excluded else change
        return FigureVerdict(
            step=self._figure.step,
            metric=self._figure.metric,
            verdict=self._verdict,
            effect=change.effect,
            interval=deciding.effect_interval,
            smallest_visible=self._kind.visible(*change.effect_interval),
            blocks=change.blocks,
            note=self._note(),
        )

    def _note(self) -> str:
        if not self._passed:
            return ""
        blocks = f"in {self._passed} of {self._passed + self._change.decision.blocks} blocks"
        if self._failed_on_base and self._failed_on_head:
            return f"no value for either side {blocks}"
        if self._failed_on_base or self._failed_on_head:
            return f"no value for {'base' if self._failed_on_base else 'head'} {blocks}"
        return f"zero {blocks}: no ratio can be computed"
