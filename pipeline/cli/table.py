"""The verb table."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.context import ConfigOption, Context, QuickOption, out
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError, meant
from pipeline.metrics import METRICS
from pipeline.report.relative import Table, compared
from pipeline.report.render import FORMATS, as_text
from pipeline.report.tables import imported_table, measured_table
from pipeline.store.queries import imported_lines, imported_metrics

THROUGHPUT = "qps"
"""The metric of a measured line's table when none is named."""


class TableFormat(StrEnum):
    """How a table is printed."""

    TEXT = "text"
    MARKDOWN = "markdown"
    CSV = "csv"
    JSON = "json"


@app.command("table")
def table_verb(
    base: Annotated[
        str, typer.Option(help="Revision to compare with; the first one of a line if not given.")
    ] = "",
    line: Annotated[
        str, typer.Option(help="Only this line; imported lines are shown by their name.")
    ] = "",
    metric: Annotated[
        str,
        typer.Option(
            help="The metric, as qps, cpu_us/o, nopm; qps if not given, or all that an imported "
            "line has."
        ),
    ] = "",
    absolute: Annotated[bool, typer.Option("--absolute", help="The values themselves.")] = False,
    decimals: Annotated[
        int | None, typer.Option(min=0, max=9, help="Decimals; 2 for relative values.")
    ] = None,
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: Annotated[TableFormat, typer.Option("--format", help="How it is printed.")] = (
        TableFormat.TEXT
    ),
) -> None:
    """Print relative tables in the published layout.

    Example: nightshift table --base 17.0 --line postgres-17 --metric cpu_us/o
    """
    context = Context(config, quick)
    tables = _tables(context, line, metric)
    if not any(table.groups for table in tables):
        raise UserError(f"nothing was measured in the metric {metric!r}; {meant(metric, METRICS)}")
    if base and not line:
        # A base belongs to some of the lines; the others have nothing to say about it.
        tables = [t for t in tables if any(base in (c.label, c.name) for c in t.columns)] or tables
    if not absolute:
        tables = [compared(table, base) for table in tables]
    settings = context.config.report
    if form is TableFormat.JSON:
        rendered = ",\n".join(FORMATS["json"](table, settings, decimals) for table in tables)
        typer.echo(f"[{rendered}]")
        return
    if form is TableFormat.TEXT:
        for table in tables:
            out.print(as_text(table, settings, decimals))
        return
    written = [FORMATS[form.value](table, settings, decimals) for table in tables]
    typer.echo("\n".join(written), nl=False)


def _tables(context: Context, line: str, metric: str) -> list[Table]:
    imported = imported_lines(context.store)
    if line in imported:
        metrics = [metric] if metric else imported_metrics(context.store, line)
        return [imported_table(context.store, line, one) for one in metrics]
    plan = context.plan()
    names = [planned.name for planned in plan.lines]
    if line and line not in names:
        raise UserError(f"there is no line {line!r}; {meant(line, [*names, *imported])}")
    tables = [
        table
        for planned in plan.lines
        if line in ("", planned.name)
        for workload in planned.workloads()
        if (table := measured_table(context.store, planned, workload, metric or THROUGHPUT))
        is not None
    ]
    if not tables:
        raise UserError("nothing of this plan was measured yet; run `nightshift nightly`")
    return tables
