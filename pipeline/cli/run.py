"""The verb `run`: measure the runs left in the plan; each becomes a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import fail_without_figure, out, screen
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.model import Cell
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.run import run_and_ingest, run_stage
from pipeline.use_cases.table import table_plan


@app.command("run")
def run_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    profile: Annotated[
        bool,
        typer.Option("--profile", help="Record a CPU profile of every step, in separate runs."),
    ] = False,
    cell: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "Measure only the cell with this key; repeatable. `plan --format github-matrix` "
                "prints the keys."
            )
        ),
    ] = None,
    table: Annotated[
        str,
        typer.Option(
            help="Measure and ingest the missing results of this [[table]], instead of those of "
            "the lines."
        ),
    ] = "",
    form: FormatOption = Format.TEXT,
) -> None:
    """Measure the runs left in the plan; each becomes a bundle.

    If the configuration has machine classes, only the runs of this machine's class are measured.
    If there was something to measure, but no run was measured, the exit code is 3.

    Example: nightshift run --quick
    Example: nightshift run --table lts-2026
    """
    context = MeasuringContext(config, quick, profile=profile)
    context.check_class()
    keys = [key for given in cell or () for key in given.split()]
    paths: list[Path] = []

    def keep(_cell: Cell, _repetition: int, path: Path) -> None:
        paths.append(path)
        if form is Format.TEXT:
            out.print(str(path), markup=False)

    watcher = make_watcher(screen())
    if table:
        result = run_and_ingest(context, table_plan(context, table), watcher, keep, keys)
    else:
        result = run_stage(context, context.plan(), watcher, keep, keys)
    if form is Format.JSON:
        print_json([str(path) for path in paths])
    elif not paths and not result.harness_errors:
        out.print("nothing left to measure")
    if result.harness_errors and not paths:
        fail_without_figure()
