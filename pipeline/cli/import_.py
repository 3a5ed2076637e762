"""The verb import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.app import add_group
from pipeline.cli.console import out
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.use_cases.import_published import import_table
from pipeline.use_cases.measuring import MeasuringContext

group = add_group("import")


@group.command("csv")
def csv_verb(
    file: Annotated[
        Path,
        typer.Argument(help="A CSV file with a row for each step and a column for each version."),
    ],
    line: Annotated[
        str, typer.Option(help="Name of the line that the versions form. Default: the file's name.")
    ] = "",
    target: Annotated[str, typer.Option(help="The DBMS, if the file does not name it.")] = "",
    machine: Annotated[
        str, typer.Option(help="The machine class, if the file does not name it.")
    ] = "",
    metric: Annotated[str, typer.Option(help="The metric, if the file does not name it.")] = "",
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Import a table of absolute values that was measured elsewhere.

    Example: nightshift import csv table.csv --line tproc-c --target postgres
    """
    taken = import_table(MeasuringContext(config), file, line, target, machine, metric)
    if form is Format.JSON:
        print_json(
            {
                "line": taken.line,
                "bundles": [str(path) for path in taken.bundles],
                "measurements": taken.measurements,
            }
        )
        return
    out.print(
        f"line {taken.line}: {len(taken.bundles)} versions imported; `nightshift table --line "
        f"{taken.line}` shows them",
        markup=False,
    )
