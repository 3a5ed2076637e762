"""Two cells measured against each other in blocks, until what is asked is known.

A block is three runs, each on a freshly started server: base, head, control, and in the next block
control, head, base. The control is base once more, entered as if it were another revision. Head
stands between the two, so that a drift within a block cancels; the blocks alternate, so that what
comes first is not always the same. Base and control together are what head is compared with, and
base against control tells whether the machine itself moved.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from pydantic import Field

from changepoint.group_sequential import FIRST_LOOK, LARGEST_LIMIT
from pipeline.analyse.experiment import Figure, Figures, Runner
from pipeline.analyse.kinds import KINDS
from pipeline.metrics import is_worse
from pipeline.model import Cell, Frozen, RegressionKind

WRONG = 0.005
"""Probability that any figure is told to be worse though nothing changed. Half of the one in a
hundred that is promised: that t tests hold is an approximation."""

MISSED = 0.05
"""Probability, for each figure, that a change of just the smallest effect is excluded. It may be
larger than ``WRONG``: larger changes are missed far more rarely."""

BLOCKS = 40
"""Blocks after which what is not clear is left undecided."""

ANEW = 1
"""Times that who asks for a verdict has all measured anew when the control moved. Told wrongly is
then at most twice ``WRONG``: no more than the one in a hundred that is promised, and that much only
on a machine that always moves."""

FAILURES = 2
"""Blocks without a figure, before any that has it, after which it is given up: a step that fails
once is tried again."""

Way = Literal["worse", "better"]
"""Which way a change is that is suspected."""

Judgement = Literal[
    "worse", "better", "same", "not worse", "not better", "not shown", "failed", "undecided"
]
"""What is known of a figure.

``same``: a change of the smallest effect is excluded; ``not worse``, ``not better``: one of the way
that was asked for is, and nothing else was asked. ``not shown``: all blocks were measured, and a
change of spread or of an SLA has not shown. ``failed``: the step fails on head, and not on base."""


class Pair(Frozen):
    """What is compared: two cells, and the control, which is ``base`` as another copy."""

    base: Cell
    head: Cell

    @property
    def control(self) -> Cell:
        """Base once more, under a number that neither base nor head has."""
        taken = {self.base.revision.copy_number, self.head.revision.copy_number}
        return copy_of(self.base, next(n for n in range(2, 5) if n not in taken))


def copy_of(cell: Cell, number: int) -> Cell:
    """Return a cell as the copy of this number: the same build, measured as if it were another."""
    revision = cell.revision.model_copy(update={"copy_number": number})
    return cell.model_copy(update={"revision": revision})


class Question(Frozen):
    """What is to be found out, and what it may cost.

    ``kind`` says of what: the level of the figures, the spread of their runs, or whether they
    show an SLA that is kept. ``smallest_effect`` is the smallest relative change of a level that
    matters; of spread and SLA it is as in their detection. ``seconds`` of measuring are not
    exceeded if that can be foreseen; one block is always measured. With ``only`` a figure is done
    when a change of that way is shown or excluded. When the control moves, all begins ``anew``, as
    often as that says, with what is left of the blocks and the seconds.
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


class Row(Frozen):
    """What became of one figure.

    ``effect`` is the relative change from base to head, of the level or of the spread, or the
    difference of the shares of the runs that kept their SLA, and ``interval`` the one that the
    verdict rests on. ``smallest_visible`` is the smallest change that these blocks could have
    shown; infinite when nothing could. ``blocks`` are those that had the figure on both sides.
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
        """How much worse it became, as a fraction; negative for what became better."""
        return abs(self.effect) * (1.0 if is_worse(self.metric, self.effect) else -1.0)


class Answer(Frozen):
    """What became of a question.

    ``moved`` says of which figures the control moved, in a sentence each. If there is one, the
    machine changed while it measured, and no row is to be believed. ``moved_before`` says the same
    of the blocks before all was measured anew, of which the rows know nothing.
    """

    rows: tuple[Row, ...]
    blocks: int
    seconds: float
    moved: tuple[str, ...] = ()
    moved_before: tuple[str, ...] = ()


def interleave(
    runner: Runner,
    pair: Pair,
    question: Question,
    clock: Callable[[], float] = time.monotonic,
) -> Answer:
    """Measure a pair, block by block, until the question is answered or its price is paid.

    Raises as :meth:`Runner.prepare`.
    """
    for cell in (pair.base, pair.head):
        runner.prepare(cell)
    trial, longest, began = _Trial(question), 0.0, clock()
    while trial.open:
        before = clock()
        if trial.blocks and before - began + longest > question.seconds:
            break
        trial.add(*_block(runner, pair, trial.blocks + 1))
        longest = max(longest, clock() - before)
    return trial.answer(clock() - began)


Block = tuple[Figures, Figures, Figures]
"""What a block yielded: the figures of base, of head, and of the control."""


def judged(question: Question, blocks: Iterable[Block], seconds: float) -> Answer:
    """Return what comes of a question from blocks that were measured before, in ``seconds``.

    It is what :func:`interleave` found when it had measured them.
    """
    trial = _Trial(question)
    for block in blocks:
        if not trial.open:
            break
        trial.add(*block)
    return trial.answer(seconds)


def _block(runner: Runner, pair: Pair, number: int) -> Block:
    """Measure base, head and control, whose keys are random alike, in the order of the block."""
    control = pair.control
    order = (pair.base, pair.head, control) if number % 2 else (control, pair.head, pair.base)
    measured = {cell.key: runner.measure(cell, number) for cell in order}
    return measured[pair.base.key], measured[pair.head.key], measured[control.key]


class _Trial:
    """A question on its way through the blocks."""

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
        """Say whether another block could tell more."""
        unclear = any(track.open for track in self._tracks)
        return self.blocks < self._question.blocks and not self._moved and unclear

    def add(self, base: Figures, head: Figures, control: Figures) -> None:
        """Take the figures of a block."""
        self.blocks += 1
        for track in self._tracks:
            track.add(base, head, control)
        self._moved = [track.moved for track in self._tracks if track.moved]
        if self._moved and self._anew:
            self._anew -= 1
            self._moved_before, self._moved = self._moved_before + self._moved, []
            self._tracks = self._fresh()

    def answer(self, seconds: float) -> Answer:
        """Return what is known now, ``seconds`` after it was begun."""
        return Answer(
            rows=tuple(track.row() for track in self._tracks),
            blocks=self.blocks,
            seconds=seconds,
            moved=tuple(self._moved),
            moved_before=tuple(self._moved_before),
        )


class _Track:
    """One figure through the blocks."""

    def __init__(self, figure: Figure, question: Question) -> None:
        self._figure, self._question = figure, question
        self._kind = KINDS[question.kind](figure.metric, question.smallest_effect, question.blocks)
        # Any of the figures may be told wrongly, so they share the error.
        share = question.wrong / len(question.figures)
        self._change = self._kind.comparison(1.0 - 2.0 * share)
        self._exclusion = self._kind.comparison(1.0 - 2.0 * question.missed)
        self._control = self._kind.comparison(1.0 - share)
        self._passed = self._failed_on_base = self._failed_on_head = 0
        self._verdict: Judgement = "undecided"
        self.open = True
        self.moved = ""

    def add(self, base: Figures, head: Figures, control: Figures) -> None:
        """Take the figures of a block; nothing is asked of one that is done."""
        if not self.open:
            return
        found = [each.get(self._figure) for each in (base, head, control)]
        levels = [level for level in found if level is not None]
        if len(levels) < len(found) or not self._kind.has(levels):
            self._pass_over(found)
            return
        first, measured, again = levels
        self._change.add([first, again], measured)
        self._exclusion.add([first, again], measured)
        drifted = self._control.add(first, again)
        if drifted.verdict in ("better", "worse"):
            self.moved = (
                f"{self._figure.step} {self._figure.metric}: {self._kind.told(drifted.effect)} "
                "between two copies of base"
            )
        self._verdict = self._judge()
        self.open = self._verdict == "undecided"

    def _pass_over(self, found: Sequence[float | None]) -> None:
        """Count a block of which there is no ratio, for a figure is missing or zero."""
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
        # That a half is excluded of kept SLAs leaves a half as the end of the interval.
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

    def row(self) -> Row:
        """Return what is known now."""
        change = self._change.decision
        excluded = self._verdict in ("same", "not worse", "not better")
        deciding = self._exclusion.decision if excluded else change
        return Row(
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
            return f"no figure of either side {blocks}"
        if self._failed_on_base or self._failed_on_head:
            return f"no figure of {'base' if self._failed_on_base else 'head'} {blocks}"
        return f"zero {blocks}, of which there is no ratio"
