"""The charts of a counted step's functions: instructions of each over the revisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Engine

from pipeline.model.counts import LEAST_SHARE
from pipeline.site.data import packed, script
from pipeline.site.trends import Floats, Trend
from pipeline.storage.functions import FunctionRange, function_costs, function_ranges

MOST_LARGE = 8
"""Number of functions of a step that are shown because their own cost is largest at some
revision."""

MOST_CHANGED = 4
"""Number of further functions that are shown because their own cost differs most between
revisions."""


class StepFunctions(NamedTuple):
    """The functions of a step that are shown, with their instructions in every run.

    A cost is NaN where the function executes less than LEAST_SHARE of the step's instructions.
    """

    functions: tuple[FunctionRange, ...]
    costs: tuple[Floats, ...]


def functions_of(store: Engine, trend: Trend) -> dict[str, StepFunctions]:
    """Return the functions to show for every counted step of a trend."""
    cells = sorted({run.cell_key for run in trend.runs})
    by_step: dict[str, list[FunctionRange]] = {}
    for found in function_ranges(store, cells):
        by_step.setdefault(found.step, []).append(found)
    chosen = {step: _chosen(found, len(trend.runs)) for step, found in by_step.items()}
    wanted = sorted({each.function for found in chosen.values() for each in found})
    costs = {
        (step, each.function): np.full(len(trend.runs), np.nan, dtype=np.float32)
        for step, found in chosen.items()
        for each in found
    }
    number = {run.run_id: at for at, run in enumerate(trend.runs)}
    for cost in function_costs(store, cells, wanted):
        along = costs.get((cost.step, cost.function))
        if along is not None and cost.run_id in number:
            along[number[cost.run_id]] = cost.self_cost
    return {
        step: StepFunctions(found, tuple(costs[step, each.function] for each in found))
        for step, found in chosen.items()
    }


def function_files(
    trend: Trend, folder: str, functions: Mapping[str, StepFunctions]
) -> Iterable[tuple[str, str]]:
    """Yield the data files with the functions of a trend's steps: name and content."""
    for number, step in enumerate(trend.steps):
        found = functions.get(step.name)
        if found is not None:
            name = f"{folder}/functions-{number}"
            yield name, script(name, _document(found))


def _document(found: StepFunctions) -> dict[str, Any]:
    return {
        "share": LEAST_SHARE,
        "functions": [{"name": each.name, "binary": each.binary} for each in found.functions],
        "costs": [packed(costs, "<f4") for costs in found.costs],
    }


def _chosen(found: list[FunctionRange], runs: int) -> tuple[FunctionRange, ...]:
    largest = sorted(found, key=lambda each: -each.high)[:MOST_LARGE]
    others = sorted(set(found) - set(largest), key=lambda each: -_growth(each, runs))
    changed = [each for each in others[:MOST_CHANGED] if _growth(each, runs) > 0.0]
    return tuple(sorted((*largest, *changed), key=lambda each: (-each.high, each.name)))


def _growth(function: FunctionRange, runs: int) -> float:
    """Return how much the instructions of a function differ between runs."""
    return function.high - (function.low if function.runs >= runs else 0.0)
