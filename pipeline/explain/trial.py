"""Trials: measure the slower revision with the old value of a changed setting.

Pure logic over a :class:`pipeline.experiments.experiment.Runner`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import count
from typing import NamedTuple

from pipeline.experiments.experiment import Figure, Figures, Runner
from pipeline.explain.settings import Suspect
from pipeline.model import Cell, Frozen, ServerConfig
from pipeline.model.metrics import METRICS, Direction

EXPLAINS = 0.5
"""The share of a change that a setting must reverse to count as its cause."""

MOST_TESTED = 8
"""Maximum number of suspects to test: halving finds one of eight within seven trials."""


class TrialOutcome(StrEnum):
    """What a trial with old values shows: the settings are the cause, or not."""

    CAUSE = "explains the change"
    PART = "explains a part of the change"
    INNOCENT = "does not explain the change"
    UNDECIDED = "undecided"
    GONE = "the change was not seen again"
    FAILED = "does not run with the old value"


class Trial(Frozen):
    """The slower revision with old settings, and which share of the slowdown that removes.

    ``share`` is 1 if the old settings remove the whole slowdown and 0 if they remove nothing, on a
    logarithmic scale; ``low`` and ``high`` are its interval. ``blocks`` is how often each of the
    old revision, the new one, and the new one with old settings ran. A trial that did not run has
    no share.
    """

    suspects: tuple[Suspect, ...]
    step: str
    metric: str
    outcome: TrialOutcome
    blocks: int
    share: float | None = None
    low: float | None = None
    high: float | None = None

    def sentence(self) -> str:
        """Describe as evidence which share of the slowdown the old settings remove."""
        names = ", ".join(f"{each.name} = {each.old!r}" for each in self.suspects)
        if self.share is None or self.low is None or self.high is None:
            return f"with {names}: {self.outcome.value}"
        interval = ""
        if math.isfinite(self.low) and math.isfinite(self.high):
            interval = f" (95 % interval {self.low:.0%} to {self.high:.0%})"
        return (
            f"{names} (the old value) reverses {self.share:.0%} of the change of {self.metric} "
            f"in {self.step}{interval}: {self.outcome.value}"
        )


WithSetting = Callable[[ServerConfig, str, str], ServerConfig]
"""The type of a target's ``with_setting``; raises ValueError for a value that cannot be set."""


def try_settings(
    runner: Runner,
    before: Cell,
    after: Cell,
    suspects: Sequence[Suspect],
    figure: Figure,
    with_setting: WithSetting,
    blocks: int,
    seconds: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[Trial, ...]:
    """Measure the slower revision with old values; return the result of each trial.

    ``blocks`` is the number of blocks per trial. The first block always runs. A further one does
    not begin if it would probably end after ``seconds``: the trials then return what is known, and
    a later call resumes there. Raises as :meth:`Runner.measure` does.

    All settable suspects are tried together first. If they reverse the change, or do not run, each
    half is tried, down to single settings. Every block runs the old revision, the new one, and the
    new one with old values. The order reverses from block to block, so a drift of the machine
    affects all alike.
    """
    measured = TrialBlocks(runner, seconds, clock)
    trials: list[Trial] = []

    def attempt(group: Sequence[Suspect]) -> None:
        if measured.over:
            return
        config = after.config
        for suspect in group:
            config = with_setting(config, suspect.name, suspect.old)
        restored = after.model_copy(update={"config": config})
        trial = _trial(measured, (before, restored, after), group, figure, blocks)
        if trial.blocks:
            trials.append(trial)
        if len(group) > 1 and trial.outcome in {
            TrialOutcome.CAUSE,
            TrialOutcome.PART,
            TrialOutcome.FAILED,
        }:
            middle = len(group) // 2
            attempt(group[:middle])
            attempt(group[middle:])

    chosen = [each for each in suspects if _settable(after.config, each, with_setting)]
    if chosen:
        attempt(chosen[:MOST_TESTED])
    return tuple(trials)


def causes(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return the trials that explain most of the slowdown with the fewest settings."""
    found = [trial for trial in trials if trial.outcome is TrialOutcome.CAUSE]
    least = min((len(trial.suspects) for trial in found), default=0)
    return tuple(trial for trial in found if len(trial.suspects) == least)


def _settable(config: ServerConfig, suspect: Suspect, with_setting: WithSetting) -> bool:
    try:
        with_setting(config, suspect.name, suspect.old)
    except ValueError:
        return False
    return True


class TrialBlocks:
    """Measures blocks of runs one after another; ``over`` is true once no time is left."""

    def __init__(self, runner: Runner, seconds: float, clock: Callable[[], float]) -> None:
        self._runner, self._clock, self._seconds = runner, clock, seconds
        self._began, self._longest = clock(), 0.0
        self._numbers = count(1)
        self.over = False

    def measure(self, cells: Sequence[Cell], turned: bool) -> dict[str, Figures] | None:
        """Run each cell once, the last one first if ``turned``; return None if no time is left."""
        before = self._clock()
        self.over = self._longest > 0 and before - self._began + self._longest > self._seconds
        if self.over:
            return None
        number = next(self._numbers)
        found = {
            cell.key: self._runner.measure(cell, number)
            for cell in (reversed(cells) if turned else cells)
        }
        self._longest = max(self._longest, self._clock() - before)
        return found


def _trial(
    measured: TrialBlocks,
    cells: tuple[Cell, Cell, Cell],
    group: Sequence[Suspect],
    figure: Figure,
    blocks: int,
) -> Trial:
    runs: dict[str, list[float]] = {cell.key: [] for cell in cells}
    done = 0
    while done < blocks:
        block = measured.measure(cells, turned=done % 2 == 1)
        if block is None:
            break
        done += 1
        for key, figures in block.items():
            if figure in figures:
                runs[key].append(figures[figure])
    reported = Trial(
        suspects=tuple(group),
        step=figure.step,
        metric=figure.metric,
        outcome=TrialOutcome.FAILED,
        blocks=done,
    )
    old, restored, new = (runs[cell.key] for cell in cells)
    if not restored:
        return reported
    judged = (
        share_taken_back(old, restored, new, figure.metric)
        if old and new
        else ShareTakenBack(TrialOutcome.GONE)
    )
    if judged.outcome is TrialOutcome.GONE and measured.over:
        # The blocks without time may still show the change.
        judged = ShareTakenBack(TrialOutcome.UNDECIDED)
    return reported.model_copy(update=judged._asdict())


class ShareTakenBack(NamedTuple):
    """The share of a slowdown that runs with old settings or layouts remove; see :class:`Trial`."""

    outcome: TrialOutcome
    share: float | None = None
    low: float | None = None
    high: float | None = None


def share_taken_back(
    old: Sequence[float], restored: Sequence[float], new: Sequence[float], metric: str
) -> ShareTakenBack:
    """Return which share of a slowdown a trial removes, with interval and outcome.

    The interval includes only the uncertainty of the part taken back; the size of the whole
    slowdown counts as exact.
    """
    # Imported here, because reading a stored explanation needs no statistics.
    from changepoint import Better, compare  # noqa: PLC0415

    known = METRICS.get(metric)
    higher = known is None or known.direction is Direction.MORE_IS_BETTER
    better: Better = "higher" if higher else "lower"
    whole = compare(new, old, smallest_effect=0.0, better=better)
    part = compare(new, restored, smallest_effect=0.0, better=better)
    if whole.verdict != "better" or whole.ratio <= 0 or not math.isfinite(whole.ratio):
        return ShareTakenBack(TrialOutcome.GONE)
    all_of_it = math.log(whole.ratio)
    share, one, other = (
        math.log(ratio) / all_of_it if ratio > 0 else -math.inf
        for ratio in (part.ratio, *part.ratio_interval)
    )
    low, high = min(one, other), max(one, other)
    outcome = TrialOutcome.UNDECIDED
    if low > 0:
        outcome = TrialOutcome.CAUSE if share >= EXPLAINS else TrialOutcome.PART
    elif high < EXPLAINS:
        outcome = TrialOutcome.INNOCENT
    return ShareTakenBack(outcome, share, low, high)
