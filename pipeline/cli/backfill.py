"""The verb `backfill`: measure skipped revisions, the most informative first."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, screen
from pipeline.cli.detection import show_detected
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption, read_option
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.experiments.backfill import Choice
from pipeline.experiments.gaps import BackfillRequest
from pipeline.text.units import parse_duration, plural, show_duration
from pipeline.use_cases.backfill import backfill, foresee
from pipeline.use_cases.measuring import MeasuringContext


@app.command("backfill")
def backfill_verb(
    line: Annotated[
        list[str] | None, typer.Option(help="Only this line; repeatable. Default: all lines.")
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number of revisions to measure.", show_default=False),
    ] = None,
    budget: Annotated[str, typer.Option(help="Time limit, for example 2h.")] = "1h",
    since: Annotated[str, typer.Option(help="The first revision to measure.")] = "",
    until: Annotated[str, typer.Option(help="The last revision to measure.")] = "",
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="List the revisions that would be measured, and why; measure nothing."
        ),
    ] = False,
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Measure skipped revisions, the most informative first.

    Revisions that narrow the range of a known change come first, then the middle of the widest gap.
    After an interruption, the same command continues.

    Example: nightshift backfill --line trunk --budget 2h
    """
    context = MeasuringContext(config, quick)
    seconds = read_option("budget", budget, parse_duration)
    asked = BackfillRequest(tuple(line or ()), since, until)
    if dry_run:
        foreseen = foresee(context, asked, count, seconds)
        if form is Format.JSON:
            print_json([_as_row(choice) for choice in foreseen])
            return
        for choice in foreseen:
            out.print(f"{choice.line} {choice.label}  {choice.why}", markup=False)
        if not foreseen:
            out.print("no unmeasured revision is left")
        return
    filled = backfill(context, asked, count, seconds, make_watcher(screen()))
    if form is Format.JSON:
        print_json(
            {
                "measured": [_as_row(choice) for choice in filled.done],
                "left_out": [
                    {**_as_row(choice), "failure": failure} for choice, failure in filled.failed
                ],
                "left": filled.left,
                "seconds": round(filled.seconds, 3),
                "detected": filled.detected.model_dump(mode="json"),
            }
        )
        return
    for choice in filled.done:
        out.print(f"{choice.line} {choice.label}  {choice.why}", markup=False)
    out.print(
        f"{plural(len(filled.done), 'revision')} measured in {show_duration(filled.seconds)}, "
        f"{filled.left} unmeasured revisions left"
    )
    show_detected(filled.detected)


def _as_row(choice: Choice) -> dict[str, str]:
    return {"line": choice.line, "revision": choice.label, "why": choice.why}
