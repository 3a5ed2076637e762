"""The verb report."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pipeline.analyse.detection import load_detected
from pipeline.cli.app import app
from pipeline.cli.context import (
    ConfigOption,
    Context,
    Format,
    FormatOption,
    QuickOption,
    out,
    print_json,
)
from pipeline.config import DEFAULT_FILE
from pipeline.execute.plan import Plan
from pipeline.execute.run import unbuilt
from pipeline.report.page import write_page
from pipeline.report.relative import compared
from pipeline.report.render import FORMATS
from pipeline.report.tables import measured_table


@app.command("report")
def report_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Write the tables and the report page into the results folder.

    Tables are written as markdown, CSV and JSON.

    Example: nightshift report
    """
    context = Context(config, quick)
    written = write_report(context, context.plan())
    if form is Format.JSON:
        print_json([str(path) for path in written])
        return
    for path in written:
        out.print(str(path), markup=False)


def write_report(context: Context, plan: Plan) -> list[Path]:
    """Write the tables of every line and the page; return the files, the page last."""
    settings = context.config.report
    folder = context.results / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    endings = {"markdown": "md", "csv": "csv", "json": "json"}
    written = []
    for line in plan.lines:
        for workload in line.workloads():
            measured = measured_table(context.store, line, workload, "qps")
            if measured is None:
                continue
            table = compared(measured)
            for form, render in FORMATS.items():
                name = f"{line.name}-{workload.name}-{workload.scale.clients}c.{endings[form]}"
                path = folder / name
                partial = path.with_suffix(".partial")
                partial.write_text(render(table, settings, None), encoding="utf-8")
                written.append(partial.rename(path))
    page = context.results / "report.html"
    written.append(
        write_page(
            page,
            context.store,
            plan,
            load_detected(context.results, plan),
            settings,
            unbuilt(context.results, plan.cells),
            datetime.now(UTC),
        )
    )
    return written
