"""The verb `table`: print tables of lines, or of any chosen columns."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import err, out
from pipeline.cli.options import FORMAT, ConfigOption, QuickOption
from pipeline.config import DEFAULT_FILE
from pipeline.measure.plan import LONG, NEWEST
from pipeline.report.grid import Grid
from pipeline.report.layouts import LAYOUTS
from pipeline.report.render import FORMATS
from pipeline.report.render.text import as_text
from pipeline.use_cases.planning import PlanningContext
from pipeline.use_cases.table import TableRequest, make_tables

_HELP = """Print tables of lines, or of any chosen columns.

They have the layouts of the published reports.

COLUMNS are two or more of target:version[@build options][+config], or the name of a
[[table]] of the configuration. Without them, the tables of all lines are printed.

Without --layout, each workload has the customary layout: sysbench and db_bench
relative tables, the Insert Benchmark and tproc-c special ones.

\b
{layouts}

\b
Example: nightshift table --base 17.0 --line postgres-17 --metric cpu_us/o
Example: nightshift table mysql:8.4.7 mariadb:11.4.5 postgres:18.1+x10c
Example: nightshift table --layout per-operation --absolute
Example: nightshift table --layout scale-up --format markdown
Example: nightshift table --layout absolute --format csv > mine.csv
""".format(layouts="\n".join(f"  {name:<18}{layout.help}" for name, layout in LAYOUTS.items()))


class TableFormat(StrEnum):
    """How a table is printed: as text, markdown, CSV, HTML or JSON."""

    TEXT = "text"
    MARKDOWN = "markdown"
    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    HTML = "html"


@app.command("table", help=_HELP)
def table_verb(
    columns: Annotated[
        list[str] | None,
        typer.Argument(help="Columns, or the name of a [[table]].", show_default=False),
    ] = None,
    layout: Annotated[
        str,
        typer.Option(
            help="The layout, one of those listed above. Default: that of each workload family."
        ),
    ] = "",
    base: Annotated[
        str, typer.Option(help="Revision to compare with. Default: the first one of a line.")
    ] = "",
    line: Annotated[
        str, typer.Option(help="Only the line with this name, measured or imported.")
    ] = "",
    metric: Annotated[
        str,
        typer.Option(
            help=(
                "The metric, for example qps, cpu_us/o or nopm. Default: qps; for an imported "
                "line, all its metrics."
            )
        ),
    ] = "",
    absolute: Annotated[
        bool,
        typer.Option(
            "--absolute",
            help="Print only absolute values, never ratios to the base.",
        ),
    ] = False,
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help=f"Show all revisions. Default: of a line with more than {LONG} revisions, only "
            f"the first and the {NEWEST} newest.",
        ),
    ] = False,
    decimals: Annotated[
        int | None,
        typer.Option(min=0, max=9, help="Number of decimals. Default: that of the layout."),
    ] = None,
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: Annotated[TableFormat, FORMAT] = TableFormat.TEXT,
) -> None:
    """Print tables of lines, or of any chosen columns."""
    asked = TableRequest(layout, base, line, metric, decimals, absolute, every, columns or ())
    tables = make_tables(PlanningContext(config, quick), asked)
    _print(tables.grids, form)
    if tables.missing:
        err.print(
            f"these columns lack results: {', '.join(tables.missing)}; "
            "`nightshift run --table NAME` measures the columns of a [[table]]",
            markup=False,
        )
    for name, count in tables.left_out.items():
        err.print(f"{name}: {count} older revisions are left out; --all shows them", markup=False)


def _print(grids: list[Grid], form: TableFormat) -> None:
    if form is TableFormat.TEXT:
        for grid in grids:
            out.print(as_text(grid))
        return
    written = [FORMATS[form.value](grid) for grid in grids]
    if form is TableFormat.JSON:
        typer.echo(f"[{','.join(written)}]")
    else:
        typer.echo("\n".join(written), nl=False)
