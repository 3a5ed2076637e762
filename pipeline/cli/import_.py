"""The verb import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, warn
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.store.published import import_published, read_published

group = typer.Typer()
app.add_typer(group, name="import")


@group.callback(invoke_without_command=True)
def import_group(context: typer.Context) -> None:
    """Import results that were measured elsewhere."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@group.command("csv")
def csv_verb(
    file: Annotated[Path, typer.Argument(help="A row per step, a column per version.")],
    line: Annotated[
        str, typer.Option(help="Name of the line that the versions make; the file's name if empty.")
    ] = "",
    target: Annotated[str, typer.Option(help="The DBMS, where the file does not say.")] = "",
    machine: Annotated[
        str, typer.Option(help="The machine class, where the file does not say.")
    ] = "",
    metric: Annotated[str, typer.Option(help="The metric, where the file does not say.")] = "",
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Take a table of absolute values as if it had been measured elsewhere.

    Example: nightshift import csv table.csv --line tproc-c --target postgres
    """
    context = MeasuringContext(config)
    name = line or file.stem
    written = import_published(
        read_published(file, metric),
        line=name,
        target=target,
        machine_class=machine,
        bundles=context.bundles,
    )
    report = context.ingest()
    for refused in report.refused:
        warn(str(refused))
    if form is Format.JSON:
        print_json(
            {
                "line": name,
                "bundles": [str(path) for path in written],
                "measurements": report.measurements,
            }
        )
        return
    out.print(
        f"line {name}: {len(written)} versions taken; `nightshift table --line {name}` shows them",
        markup=False,
    )
