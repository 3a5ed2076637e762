"""The verb table."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.options import ConfigOption, QuickOption
from pipeline.cli.planning import PlanningContext
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError, meant
from pipeline.metrics import METRICS
from pipeline.report.grid import Grid
from pipeline.report.layouts import LAYOUTS, make_grids
from pipeline.report.layouts.base import Wish
from pipeline.report.render import FORMATS
from pipeline.report.render.text import as_text
from pipeline.report.tables import Subject, imported_subject, measured_subjects
from pipeline.store.queries import imported_lines

_HELP = """Print tables in the published layouts.

Without a layout each workload is printed as the field expects it: sysbench and db_bench
relative, the Insert Benchmark and tproc-c in layouts of their own.

\b
{layouts}

\b
Example: nightshift table --base 17.0 --line postgres-17 --metric cpu_us/o
Example: nightshift table --layout per-operation --absolute
Example: nightshift table --layout scale-up --format markdown
Example: nightshift table --layout absolute --format csv > mine.csv
""".format(layouts="\n".join(f"  {name:<18}{layout.help}" for name, layout in LAYOUTS.items()))


class TableFormat(StrEnum):
    """How a table is printed."""

    TEXT = "text"
    MARKDOWN = "markdown"
    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    HTML = "html"


@app.command("table", help=_HELP)
def table_verb(
    layout: Annotated[
        str, typer.Option(help="The layout, one of the above; each family's own if not given.")
    ] = "",
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
    absolute: Annotated[
        bool,
        typer.Option(
            "--absolute",
            help="Only the values themselves: those of a layout, or the layout absolute.",
        ),
    ] = False,
    decimals: Annotated[
        int | None, typer.Option(min=0, max=9, help="Decimals; as published if not given.")
    ] = None,
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: Annotated[TableFormat, typer.Option("--format", help="How it is printed.")] = (
        TableFormat.TEXT
    ),
) -> None:
    """Print tables in the published layouts."""
    if absolute and layout in ("", "relative"):
        layout = "absolute"
    _check(layout, metric)
    context = PlanningContext(config, quick)
    lines = _lines(context, line)
    if base and not line:
        # A base belongs to some of the lines; the others have nothing to say about it.
        lines = [found for found in lines if _has(found, base)] or lines
    wish = Wish(context.config.report, base=base, metric=metric, decimals=decimals)
    grids = [grid for subjects in lines for grid in make_grids(subjects, wish, layout)]
    if not grids:
        raise UserError(_nothing(layout, metric))
    shown = [grid for grid in grids if grid.base is None] if absolute else grids
    if not shown:
        raise UserError(f"the layout {layout} has relative values only; leave --absolute out")
    _print(shown, form)


def _check(layout: str, metric: str) -> None:
    """Refuse what is no layout, and a metric for a layout that has its own."""
    if layout and layout not in LAYOUTS:
        raise UserError(f"there is no layout {layout!r}; {meant(layout, LAYOUTS)}")
    if layout and metric and not LAYOUTS[layout].any_metric:
        raise UserError(f"the layout {layout} has metrics of its own; leave --metric out")


def _lines(context: PlanningContext, line: str) -> list[list[Subject]]:
    """Return what can be shown of the lines, or of one of them."""
    imported = imported_lines(context.store)
    if line in imported:
        return [[imported_subject(context.store, line)]]
    plan = context.plan()
    names = [planned.name for planned in plan.lines]
    if line and line not in names:
        raise UserError(f"there is no line {line!r}; {meant(line, [*names, *imported])}")
    found = [
        measured_subjects(context.store, planned)
        for planned in plan.lines
        if line in ("", planned.name)
    ]
    if not any(found):
        raise UserError("nothing of this plan was measured yet; run `nightshift nightly`")
    return found


def _has(subjects: list[Subject], base: str) -> bool:
    return any(
        base in (column.label, column.name) for subject in subjects for column in subject.columns
    )


def _nothing(layout: str, metric: str) -> str:
    if metric and metric not in METRICS:
        return f"nothing was measured in the metric {metric!r}; {meant(metric, METRICS)}"
    needed = LAYOUTS[layout or "relative"].needs
    return f"there is nothing to show; the layout {layout or 'relative'} needs {needed}"


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
