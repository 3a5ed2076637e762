"""Distinguish effects of the memory layout from regressions of the code, at equal instructions."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from pathlib import Path

from pipeline.experiments.experiment import Figure, Runner
from pipeline.experiments.record import LAYING_OUT
from pipeline.experiments.runner import only_steps
from pipeline.explain.counts import counted_cells
from pipeline.explain.explain import cells_of
from pipeline.explain.explanation import load_layout_trial, save_layout_trial
from pipeline.explain.layout_trial import CacheMisses, LayoutTrial, try_layouts
from pipeline.measure.build import NotBuiltError
from pipeline.measure.plan import Plan
from pipeline.measure.progress import Watcher
from pipeline.model import Cell, Mode, Regression, RegressionState, SeriesKey, Shift
from pipeline.model.counts import COUNTED_METRICS, INSTRUCTIONS
from pipeline.regressions.grouping import effect_size
from pipeline.storage.bundle import EXPERIMENTS
from pipeline.storage.journal import Event, EventKind, now
from pipeline.text.errors import UserError
from pipeline.use_cases.explain import is_unproven
from pipeline.use_cases.measuring import MeasuringContext

_LOG = logging.getLogger(__name__)

BLOCKS = 4
"""Number of blocks of a layout trial."""

LAYOUT = "layout"
"""The reason for rejecting a regression whose change depends on the layout."""


def try_all_layouts(
    context: MeasuringContext,
    plan: Plan,
    regressions: Sequence[Regression],
    ends: float,
    watcher: Watcher,
) -> None:
    """Test confirmed slowdowns at equal instructions with other layouts, until ``ends``.

    ``ends`` is a time of the context's clock. A regression that changes with the layout is
    rejected, with its evidence in the journal. A finished trial is not repeated. An error of one
    regression is logged and does not stop the others.
    """
    for regression in regressions:
        left = ends - context.clock()
        confirmed = regression.worse and regression.state is RegressionState.CONFIRMED
        if left <= 0 or not confirmed or not is_unproven(context, plan, regression):
            continue
        try:
            _try_one(context, plan, regression, left, watcher)
        except (UserError, NotBuiltError) as error:
            _LOG.warning(
                f"regression {regression.fingerprint} was not measured with other layouts of the "
                f"program: {error}"
            )


def _try_one(
    context: MeasuringContext, plan: Plan, regression: Regression, seconds: float, watcher: Watcher
) -> None:
    folder = context.results / EXPERIMENTS / f"{LAYING_OUT}{regression.fingerprint}"
    known = load_layout_trial(regression, folder)
    shift = _timed_shift(regression)
    cells = cells_of(regression, plan, shift.series) if shift is not None else None
    if shift is None or cells is None or (known is not None and known.blocks >= BLOCKS):
        return
    key = shift.series
    before, after = (
        cell.model_copy(update={"workload": only_steps(cell.workload, [key.step])})
        for cell in cells
    )
    about = {"fingerprint": regression.fingerprint}
    with context.experimenting(folder, "explain", seconds, watcher, Mode.TIME, **about) as runner:
        figure = Figure(key.step, key.metric)
        trial = try_layouts(runner, before, after, figure, BLOCKS, seconds, context.clock)
    counted = _simulated(plan, regression, key, context.machine_class)
    if counted is not None:
        with context.experimenting(
            folder, "explain", seconds, watcher, Mode.COUNT, **about
        ) as runner:
            trial = trial.model_copy(update={"misses": _misses(runner, *counted, key.step)})
    save_layout_trial(trial, folder)
    _record(context, regression, trial, folder)


def _timed_shift(regression: Regression) -> Shift | None:
    """Return the largest change of level in a timed series, by ratio; None if there is none."""
    timed = [
        shift
        for shift in regression.shifts
        if shift.series.mode is Mode.TIME and shift.kind.of_levels and math.isfinite(shift.effect)
    ]
    return max(timed, key=effect_size, default=None)


def _simulated(
    plan: Plan, regression: Regression, key: SeriesKey, machine_class: str
) -> tuple[Cell, Cell] | None:
    """Return the counted cells of both sides, with cache simulation; None if there are none."""
    line = next((line for line in plan.lines if line.name == regression.line), None)
    if line is None:
        return None
    sides = []
    for label in (regression.last_good, regression.first_bad):
        here = (
            cell for cell in counted_cells(line, key, label) if cell.machine_class == machine_class
        )
        cell = next(here, None)
        if cell is None:
            return None
        workload = only_steps(cell.workload, [key.step])
        simulating = workload.model_copy(update={"cache_simulation": True})
        sides.append(cell.model_copy(update={"workload": simulating}))
    return sides[0], sides[1]


def _misses(runner: Runner, before: Cell, after: Cell, step: str) -> tuple[CacheMisses, ...]:
    one, other = (runner.measure(cell, 1) for cell in (before, after))
    return tuple(
        CacheMisses(metric=metric, before=one[figure], after=other[figure])
        for metric in COUNTED_METRICS
        if metric != INSTRUCTIONS and (figure := Figure(step, metric)) in one and figure in other
    )


def _record(
    context: MeasuringContext, regression: Regression, trial: LayoutTrial, folder: Path
) -> None:
    """Record in the journal that a change is caused by the layout, if the trial proves it."""
    about = {"fingerprint": regression.fingerprint, "verdict": trial.outcome.value}
    _LOG.info("experiment decided", extra={"experiment": folder.name, **about})
    if trial.moves:
        event = Event(
            at=now(),
            event=EventKind.REJECTED,
            fingerprint=regression.fingerprint,
            reason=LAYOUT,
            note="; ".join(trial.sentences()),
            experiment=folder.name,
            blocks=trial.blocks,
        )
        context.regressions.record([event], event.at)
