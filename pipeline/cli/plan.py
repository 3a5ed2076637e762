"""The verb plan."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.options import ConfigOption, QuickOption
from pipeline.cli.output import print_json, print_matrix
from pipeline.cli.planning import PlanningContext
from pipeline.config import DEFAULT_FILE
from pipeline.execute.expect import Expectation
from pipeline.execute.matrix import jobs_of
from pipeline.model import Workload
from pipeline.store.queries import measured
from pipeline.units import counted, show_duration
from pipeline.workloads import find_family
from pipeline.workloads.base import Measure, Timing


class PlanFormat(StrEnum):
    """How a plan is printed."""

    TEXT = "text"
    JSON = "json"
    GITHUB_MATRIX = "github-matrix"


@app.command("plan")
def plan_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: Annotated[
        PlanFormat, typer.Option("--format", help="How it is printed.")
    ] = PlanFormat.TEXT,
) -> None:
    """Show the plan: what is measured, and the runs that are left.

    As a matrix of GitHub Actions it is a job for each cell, of which runs are left.

    Example: nightshift plan --format github-matrix
    """
    context = PlanningContext(config, quick)
    plan = context.plan()
    remaining = plan.remaining(measured(context.store))
    seconds = Expectation(cell for cell, _ in remaining).left
    if form is PlanFormat.GITHUB_MATRIX:
        runners = {each.name: each.labels for each in context.config.machine_class}
        jobs = jobs_of(remaining, runners, limits=context.config.measuring_jobs)
        print_matrix(jobs)
        return
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
            }
        )
        return
    for line in plan.lines:
        due = [each.label for each in line.revisions if each.label not in line.kept]
        kept = f" ({len(line.kept)} measured before)" if line.kept else ""
        out.print(f"{line.name}: {' '.join(due)}{kept}", markup=False)
    for workload in {cell.workload.hash: cell.workload for cell in plan.due}.values():
        scale = workload.scale
        out.print(
            f"{workload.name}: {_steps(workload)}, "
            f"{scale.clients} x {scale.tables} x {scale.rows} (clients x tables x rows)",
            markup=False,
        )
    out.print(
        f"{len(plan.due)} cells x {plan.repetitions} repetitions; {len(remaining)} runs left, "
        f"{show_duration(seconds)} of steps"
    )


def _steps(workload: Workload) -> str:
    """Say how many steps there are of which length: some families have steps of their own."""
    family = find_family(workload.family)
    lengths = Counter(
        _length(family.timing(action, workload))
        for action in family.actions(workload)
        if isinstance(action, Measure)
    )
    return ", ".join(f"{counted(count, 'step')} {length}" for length, count in lengths.items())


def _length(timing: Timing) -> str:
    if timing.usual is not None and timing.measured == timing.limit:
        return "that end when their rows are done"
    return f"of {timing.measured:g} s"
