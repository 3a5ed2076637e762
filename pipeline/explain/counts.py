"""Find the counted instructions of a step on both sides of a regression."""

from __future__ import annotations

from pathlib import Path

from pipeline.explain.call_tree import call_tree
from pipeline.explain.counted_change import CountedChange
from pipeline.explain.function_costs import function_cost_changes, instructions_sentence
from pipeline.measure.plan import Line, Plan
from pipeline.model import (
    Cell,
    Mode,
    Regression,
    SeriesKey,
)
from pipeline.storage.bundle import BundleError, bundle_path
from pipeline.storage.ingest import counts_of


def counted_change(
    regression: Regression, plan: Plan, key: SeriesKey, bundles: Path
) -> CountedChange | None:
    """Return how the instructions of a step changed; None if one side was not counted.

    Counts do not depend on the machine, so counts of another machine class are used, too.
    """
    line = next((line for line in plan.lines if line.name == regression.line), None)
    if line is None:
        return None
    for before in counted_cells(line, key, regression.last_good):
        for after in counted_cells(line, key, regression.first_bad):
            if before.workload.hash != after.workload.hash:
                continue
            found = _between(before, after, key, bundles, _slower(regression, line, key))
            if found is not None:
                return found
    return None


def counted_cells(line: Line, key: SeriesKey, label: str) -> list[Cell]:
    """Return the counted cells of a revision with the step and the setup of a series."""
    return [
        cell
        for cell in line.cells
        if cell.workload.mode is Mode.COUNT
        and cell.revision.label == label
        and cell.config.family == key.config
        and cell.build_options == key.build_options
        and any(step.name == key.step for step in cell.workload.steps)
    ]


def _between(
    before: Cell, after: Cell, key: SeriesKey, bundles: Path, slower: bool | None
) -> CountedChange | None:
    try:
        one, other = (
            counts_of(bundle_path(bundles, cell.run_id(1))).get(key.step)
            for cell in (before, after)
        )
    except BundleError:
        return None
    if one is None or other is None or one.instructions <= 0:
        return None
    functions = function_cost_changes(one, other)
    return CountedChange(
        before=one.instructions,
        after=other.instructions,
        sentence=instructions_sentence(key.unit, one, other, functions),
        functions=functions,
        slower=slower,
        calls=call_tree(one, other) if functions else (),
    )


def _slower(regression: Regression, line: Line, key: SeriesKey) -> bool | None:
    timed = any(
        cell.workload.mode is Mode.TIME
        and any(step.name == key.step for step in cell.workload.steps)
        for cell in line.cells
    )
    if not timed:
        return None
    return any(
        shift.worse
        and shift.kind.of_levels
        and shift.series.mode is Mode.TIME
        and shift.series.step == key.step
        for shift in regression.shifts
    )
