"""Measure cells again on request; earlier runs are kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

from pipeline.measure.expected_time import Expectation
from pipeline.measure.progress import Watcher
from pipeline.model import Cell
from pipeline.storage.bundle import bundle_path
from pipeline.storage.steps import StepState, step_states
from pipeline.text.errors import UserError
from pipeline.text.units import plural
from pipeline.use_cases.event_log import logged
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.run import RunResult, build_and_measure, check_tools


class RemeasureReason(StrEnum):
    """Why a step is measured again: it failed or was disturbed."""

    FAILED = "failed"
    DISTURBED = "disturbed"


class RemeasureRequest(NamedTuple):
    """Which cells to measure again: selected by revision, step and reason.

    An empty field selects everything.
    """

    revisions: Sequence[str] = ()
    steps: Sequence[str] = ()
    reasons: Collection[RemeasureReason] = ()


class Remeasurement(NamedTuple):
    """A run to measure again, and why."""

    cell: Cell
    repetition: int
    why: str


def requested(context: MeasuringContext, request: RemeasureRequest) -> list[Remeasurement]:
    """Return the runs that measure the requested cells again.

    Without a reason, each cell gets one more repetition. With reasons, runs with a step that failed
    or was disturbed do not count, and each cell gets as many repetitions as it then lacks, so a
    completed request measures nothing when it is repeated. Raises UserError for a request without
    any selection, and for one that selects no measured cell.
    """
    if not any(request):
        raise UserError("name what to measure again: --revision, --step or --reason")
    plan = context.plan().of_class(context.machine_class)
    cells = [cell for cell in plan.cells if not cell.imported and _is_selected(cell, request)]
    states: dict[str, list[StepState]] = defaultdict(list)
    for state in step_states(context.store, cells=[cell.key for cell in cells]):
        if _matches(state.step, request.steps):
            states[state.cell_key].append(state)
    if not states:
        raise UserError(
            "no measured cell of this machine's plan matches these options; `nightshift plan` "
            "lists the revisions, and `nightshift table` the steps"
        )
    again = [
        Remeasurement(cell, repetition, why)
        for cell in cells
        if cell.key in states
        for repetition, why in _repetitions(context, cell, plan.repetitions, states, request)
    ]
    # Interleaved as a night does it: a drift of the machine affects all cells alike.
    return sorted(again, key=lambda each: each.repetition)


@logged("remeasure")
def remeasure(
    context: MeasuringContext, again: Sequence[Remeasurement], watcher: Watcher
) -> RunResult:
    """Measure runs again and add them to the store."""
    check_tools(context)
    with context.workspace.held():
        return build_and_measure(
            context,
            [(each.cell, each.repetition) for each in again],
            watcher,
            lambda _cell, _repetition, path: _take(context, path),
        )


def expected_seconds(again: Sequence[Remeasurement]) -> float:
    """Return how many seconds the runs are expected to take."""
    return Expectation(each.cell for each in again).left


def _take(context: MeasuringContext, path: Path) -> None:
    context.ingest([path])


def _is_selected(cell: Cell, request: RemeasureRequest) -> bool:
    return _matches(cell.revision.label, request.revisions) and any(
        _matches(step.name, request.steps) for step in cell.workload.steps
    )


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def _repetitions(
    context: MeasuringContext,
    cell: Cell,
    wanted: int,
    states: dict[str, list[StepState]],
    request: RemeasureRequest,
) -> Iterator[tuple[int, str]]:
    """Yield the repetitions of a cell to measure, each with the reason."""
    known = {state.repetition for state in states[cell.key]}
    bad: dict[RemeasureReason, set[int]] = {
        RemeasureReason.FAILED: {s.repetition for s in states[cell.key] if s.failed},
        RemeasureReason.DISTURBED: {s.repetition for s in states[cell.key] if s.disturbed},
    }
    free = (
        number
        for number in count(max(known) + 1)
        if number > wanted and not bundle_path(context.bundles, cell.run_id(number)).exists()
    )
    if not request.reasons:
        yield next(free), "requested"
        return
    found = set().union(*(bad[reason] for reason in request.reasons))
    missing = min(len(found), max(wanted - len(known - found), 0))
    reported = ", ".join(
        f"{plural(len(bad[reason]), 'run')} {reason.value}"
        for reason in RemeasureReason
        if reason in request.reasons and bad[reason]
    )
    for number in islice(free, missing):
        yield number, reported
