"""The verb collect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.analyse.settle import refresh
from pipeline.cli.app import app
from pipeline.cli.context import (
    ConfigOption,
    Context,
    Format,
    FormatOption,
    out,
    print_json,
    warn,
)
from pipeline.cli.stages import take_bundles
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError
from pipeline.journal import now
from pipeline.transfer.results import Collected, collect, told_elsewhere
from pipeline.transfer.state import take_state
from pipeline.units import counted


@app.command("collect")
def collect_verb(
    folder: Annotated[list[Path], typer.Argument(help="Folders that `pack` wrote elsewhere.")],
    state: Annotated[
        bool,
        typer.Option("--state", help="Take a state or a plan, in place of what is here."),
    ] = False,
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Take what was measured elsewhere, each run once.

    Every file is checked first. A folder that is not whole is named and left; the others are taken.

    Example: nightshift collect inbox/ccx13-001 inbox/ccx13-002
    """
    context = Context(config)
    if state:
        count = sum(take_state(each, context.results) for each in folder)
        if form is Format.JSON:
            print_json({"files": count})
        else:
            out.print(f"{counted(count, 'file')} taken")
        return
    found, refused = [], []
    for each in folder:
        try:
            found.append(_collected(context, each))
        except UserError as error:
            refused.append(str(error))
            warn(str(error))
    _show(context, found, refused, form)
    if refused:
        raise typer.Exit(2)


def _collected(context: Context, folder: Path) -> Collected:
    found = collect(folder, context.results)
    for run in found.measured_twice:
        warn(f"{folder}: {run} was measured before; what was known of it stays")
    # Outcomes of experiments come before what was found after them.
    refresh(context.results, context.store, now())
    if told_elsewhere(folder, context.results):
        refresh(context.results, context.store, now())
    return found


def _show(context: Context, found: list[Collected], refused: list[str], form: Format) -> None:
    report = take_bundles(context)
    bundles = sum(len(each.bundles) for each in found)
    known = sum(each.known for each in found)
    experiments = sorted(set[str]().union(*(each.experiments for each in found)))
    if form is Format.JSON:
        print_json(
            {
                "bundles": bundles,
                "known": known,
                "experiments": experiments,
                "measurements": report.measurements,
                "refused": refused,
            }
        )
        return
    out.print(
        f"{counted(bundles, 'bundle')} taken ({report.measurements} measurements), {known} known "
        f"already, {counted(len(experiments), 'experiment')}, "
        f"{counted(len(refused), 'folder')} refused"
    )
