"""The verb `plan`: show the plan: what is measured, and the runs that are left."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Annotated

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.options import FORMAT, ConfigOption, QuickOption, RunOption
from pipeline.cli.output import print_json, print_matrix
from pipeline.config import DEFAULT_FILE
from pipeline.measure.plan import LONG, NEWEST
from pipeline.model import Workload
from pipeline.text.units import plural, show_duration
from pipeline.use_cases.plan import plan_jobs, plan_runs
from pipeline.use_cases.planning import PlanningContext
from pipeline.workloads import find_family
from pipeline.workloads.base import Measure, Timing


class PlanFormat(StrEnum):
    """How a plan is printed: as text, as JSON or as a matrix for GitHub Actions."""

    TEXT = "text"
    JSON = "json"
    GITHUB_MATRIX = "github-matrix"


@app.command("plan")
def plan_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: Annotated[PlanFormat, FORMAT] = PlanFormat.TEXT,
    run: RunOption = "",
) -> None:
    """Show the plan: what is measured, and the runs that are left.

    With --format github-matrix, print a GitHub Actions matrix: a job for each cell with runs left.

    Example: nightshift plan --format github-matrix
    """
    context = PlanningContext(config, quick)
    if form is PlanFormat.GITHUB_MATRIX:
        print_matrix(plan_jobs(context, run))
        return
    plan, remaining, seconds, placements = plan_runs(context)
    if form is PlanFormat.JSON:
        print_json(
            {
                "lines": {
                    line.name: [revision.label for revision in line.revisions]
                    for line in plan.lines
                },
                "repetitions": plan.repetitions,
                "cells": len(plan.due),
                "runs": len(plan.due) * plan.repetitions,
                "remaining": [cell.run_id(repetition) for cell, repetition in remaining],
                "remaining_step_seconds": seconds,
                "placements": placements,
            }
        )
        return
    for line in plan.lines:
        due = [each.label for each in line.revisions if each.label not in line.kept]
        kept = f" ({len(line.kept)} measured before)" if line.kept else ""
        older = f"{len(due) - NEWEST} older, " if len(due) > LONG else ""
        shown = due[-NEWEST:] if older else due
        out.print(f"{line.name}: {older}{' '.join(shown)}{kept}", markup=False)
    for workload in {cell.workload.hash: cell.workload for cell in plan.due}.values():
        size = find_family(workload.family).size(workload)
        out.print(f"{workload.name}: {_steps(workload)}; {size}", markup=False)
    for line_of_text in placements:
        out.print(f"processors of {line_of_text}", markup=False)
    out.print(
        f"{len(plan.due)} cells x {plan.repetitions} repetitions; {len(remaining)} runs left, "
        f"whose steps take {show_duration(seconds)}"
    )


def _steps(workload: Workload) -> str:
    """Return as text how many steps of a workload have which duration."""
    family = find_family(workload.family)
    lengths = Counter(
        _length(family.timing(action, workload))
        for action in family.actions(workload)
        if isinstance(action, Measure)
    )
    return ", ".join(f"{plural(count, 'step')} {length}" for length, count in lengths.items())


def _length(timing: Timing) -> str:
    if timing.usual is not None and timing.measured == timing.limit:
        return "that end when all rows are written"
    return f"of {timing.measured:g} s"
