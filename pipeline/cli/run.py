"""The verb run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, screen
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.cli.stages import run_stage
from pipeline.config import DEFAULT_FILE
from pipeline.model import Cell


@app.command("run")
def run_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    profile: Annotated[
        bool,
        typer.Option("--profile", help="Keep a CPU profile of every step, in runs of their own."),
    ] = False,
    cell: Annotated[
        list[str] | None,
        typer.Option(
            help="Only these cells, by the keys that `plan --format github-matrix` gives."
        ),
    ] = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Measure the runs left in the plan; each becomes a bundle.

    Where the configuration has machine classes, that is what this machine's class measures.

    Example: nightshift run --quick
    """
    context = MeasuringContext(config, quick, profile=profile)
    context.check_class()
    keys = [key for given in cell or () for key in given.split()]
    paths: list[Path] = []

    def keep(_cell: Cell, _repetition: int, path: Path) -> None:
        paths.append(path)
        if form is Format.TEXT:
            out.print(str(path), markup=False)

    run_stage(context, context.plan(), make_watcher(screen()), keep, keys)
    if form is Format.JSON:
        print_json([str(path) for path in paths])
    elif not paths:
        out.print("nothing is left to measure")
