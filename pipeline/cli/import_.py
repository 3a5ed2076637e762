"""The verb `import`: import a table of absolute values that was measured elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.app import add_group
from pipeline.cli.console import out
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.formats import FORMATS
from pipeline.text.units import plural
from pipeline.use_cases.import_results import (
    ImportedTable,
    ImportRequest,
    import_results,
    import_table,
)
from pipeline.use_cases.measuring import MeasuringContext

group = add_group("import")

MachineOption = Annotated[
    str, typer.Option(help="The machine class of the results, if the files do not name it.")
]


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
    machine: MachineOption = "",
    metric: Annotated[str, typer.Option(help="The metric, if the file does not name it.")] = "",
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Import a table of absolute values that was measured elsewhere.

    Example: nightshift import csv table.csv --line tproc-c --target postgres
    """
    _show(import_table(MeasuringContext(config), file, line, target, machine, metric), form)


def _verb(name: str) -> Callable[..., None]:
    """Return the command that imports files of one format."""

    def verb(
        files: Annotated[list[Path], typer.Argument(help="Files, the oldest revision first.")],
        revision: Annotated[
            str, typer.Option(help="The measured revision, if the files do not name it.")
        ] = "",
        line: Annotated[
            str, typer.Option(help="Name of the line. Default: the name of the format.")
        ] = "",
        target: Annotated[
            str, typer.Option(help="The program that was measured. Default: the name of the line.")
        ] = "",
        machine: MachineOption = "",
        lower: Annotated[
            list[str] | None,
            typer.Option(
                help="Shell pattern of steps for which lower values are better, if the format does "
                "not say so; repeatable."
            ),
        ] = None,
        config: ConfigOption = DEFAULT_FILE,
        form: FormatOption = Format.TEXT,
    ) -> None:
        asked = ImportRequest(tuple(files), line, target, machine, revision, tuple(lower or ()))
        _show(import_results(MeasuringContext(config), name, asked), form)

    verb.__doc__ = (
        f"Import {FORMATS[name].help}.\n\n"
        f"Example: nightshift import {name} results --revision 17.11 --line mine"
    )
    return verb


for _name in FORMATS:
    group.command(_name)(_verb(_name))


def _show(taken: ImportedTable, form: Format) -> None:
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
        f"line {taken.line}: {plural(len(taken.bundles), 'new run')} imported; `nightshift detect` "
        f"searches it, `nightshift table --line {taken.line}` shows it",
        markup=False,
    )
