"""The plan stage: what is to be measured, and which runs remain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.measure.expected_time import Expectation
from pipeline.measure.matrix import Job, jobs_of
from pipeline.measure.placement import cores_here, show_placements
from pipeline.measure.plan import Plan
from pipeline.model import Cell
from pipeline.storage.journal import now
from pipeline.storage.runs import measured
from pipeline.storage.steps import stayed_disturbed
from pipeline.transfer.batches import Batches, batch_of
from pipeline.use_cases.planning import PlanningContext


class PlannedRuns(NamedTuple):
    """A plan, its remaining runs, and their expected duration in seconds.

    ``placements`` describe the processors for each workload, if this machine measures.
    """

    plan: Plan
    remaining: Sequence[tuple[Cell, int]]
    seconds: float
    placements: Sequence[str]


def plan_runs(context: PlanningContext, *, again: bool = True) -> PlannedRuns:
    """Return the plan of the next night.

    ``again`` includes further runs of cells that stayed disturbed, which jobs do not measure.
    """
    plan = context.plan()
    due = [cell.key for cell in plan.due] if again else []
    remaining = plan.remaining(measured(context.store), stayed_disturbed(context.store, due))
    seconds = Expectation(cell for cell, _ in remaining).left
    ours = [cell for cell in plan.due if cell.machine_class == context.machine.machine_class]
    return PlannedRuns(plan, remaining, seconds, show_placements(ours, cores_here()))


def due_work(context: PlanningContext) -> dict[str, float]:
    """Return the expected seconds of the remaining steps, for each machine class that has some."""
    cells: dict[str, list[Cell]] = {}
    for cell, _ in plan_runs(context, again=False).remaining:
        cells.setdefault(cell.machine_class, []).append(cell)
    return {name: Expectation(each).left for name, each in cells.items()}


def plan_jobs(context: PlanningContext, run: str = "") -> Sequence[Job]:
    """Return the remaining runs as jobs for other machines, and record each as a batch.

    A job has the ``id`` of its batch, because the hub accepts only what a batch asks for. ``run``
    is the workflow run; all attempts at a run share their batches.
    """
    runners = {each.name: each.labels for each in context.config.machine_class}
    remaining = plan_runs(context, again=False).remaining
    jobs = jobs_of(remaining, runners, limits=context.config.measuring_jobs)
    batches = [
        batch_of(job.id, job.machine_class, now(), job.cells.split(), run=run) for job in jobs
    ]
    Batches(context.results).hand_out(batches)
    return [
        job.model_copy(update={"id": batch.id}) for job, batch in zip(jobs, batches, strict=True)
    ]
