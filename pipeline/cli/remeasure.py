"""The verb `remeasure`: measure failed, disturbed or chosen cells again."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import fail_without_figure, out, screen
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.text.units import plural, show_duration
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.remeasure import (
    Remeasurement,
    RemeasureReason,
    RemeasureRequest,
    expected_seconds,
    remeasure,
    requested,
)


@app.command("remeasure")
def remeasure_verb(
    revision: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "Only cells of this revision, or of revisions that match a pattern such as '17.*'; "
                "repeatable."
            )
        ),
    ] = None,
    step: Annotated[
        list[str] | None,
        typer.Option(
            help="Only cells with this step, or with steps that match a pattern; repeatable."
        ),
    ] = None,
    reason: Annotated[
        list[RemeasureReason] | None,
        typer.Option(help="Only cells with runs that failed or were disturbed."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show what would be measured, and how long it takes; measure nothing."
        ),
    ] = False,
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Measure failed, disturbed or chosen cells again.

    Earlier runs are kept: a new run is one more repetition of its cell. With --reason, each cell
    gets the repetitions that it lacks, so a repeated command measures nothing twice.

    Example: nightshift remeasure --revision '17.*' --reason failed --dry-run
    """
    context = MeasuringContext(config, quick)
    context.check_class()
    again = requested(context, RemeasureRequest(revision or (), step or (), reason or ()))
    seconds = expected_seconds(again)
    if dry_run or not again:
        if form is Format.JSON:
            print_json({"runs": _as_rows(again), "step_seconds": seconds})
            return
        for each in again:
            out.print(f"{each.cell.run_id(each.repetition)}  {each.why}", markup=False)
        out.print(
            f"{plural(len(again), 'run')} to measure; their steps take about "
            f"{show_duration(seconds)}"
        )
        return
    result = remeasure(context, again, make_watcher(screen()))
    if form is Format.JSON:
        print_json({"runs": _as_rows(again), "harness_errors": result.harness_errors})
    else:
        out.print(
            f"{plural(result.runs, 'run')} measured; the next night, or `nightshift detect`, "
            "searches them for changes"
        )
    if not result.runs:
        fail_without_figure()


def _as_rows(again: list[Remeasurement]) -> list[dict[str, str]]:
    return [{"run": each.cell.run_id(each.repetition), "why": each.why} for each in again]
