"""The verb report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pipeline.analyse.detected import load_detected
from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.durable import write_whole
from pipeline.execute.plan import Plan
from pipeline.execute.run import unbuilt
from pipeline.report.grid import Grid
from pipeline.report.layouts import LAYOUTS, by_layout
from pipeline.report.layouts.base import Wish
from pipeline.report.page import write_page
from pipeline.report.render import FORMATS
from pipeline.report.tables import Subject, measured_subjects

_ENDINGS = {"markdown": "md", "csv": "csv", "json": "json"}
"""The formats that tables are written in, with the endings of their files."""


@app.command("report")
def report_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Write the tables and the report page.

    Tables are written as markdown, CSV and JSON.

    Example: nightshift report
    """
    context = MeasuringContext(config, quick)
    written = write_report(context, context.plan())
    if form is Format.JSON:
        print_json([str(path) for path in written])
        return
    for path in written:
        out.print(str(path), markup=False)


def write_report(context: MeasuringContext, plan: Plan) -> list[Path]:
    """Write the tables of every line and the page; return the files, the page last."""
    settings = context.config.report
    folder = context.results / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for line in plan.lines:
        for layout, subjects in by_layout(measured_subjects(context.store, line)).items():
            for name, chosen in _files(layout, subjects).items():
                grids = LAYOUTS[layout].make(chosen, Wish(settings))
                written += [
                    _write(folder / f"{name}.{_ENDINGS[form]}", FORMATS[form], grids)
                    for form in _ENDINGS
                    if grids
                ]
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


def _files(layout: str, subjects: Sequence[Subject]) -> dict[str, list[Subject]]:
    """Return what a layout shows, by the name of the file that it goes into.

    What compares revisions has a file for each workload and number of clients; what compares
    workloads has one for them all.
    """
    if layout != "relative":
        return {f"{subjects[0].line}-{layout}": list(subjects)}
    return {
        f"{each.line}-{each.workload.name}-{each.workload.scale.clients}c": [each]
        for each in subjects
    }


def _write(path: Path, render: Callable[[Grid], str], grids: Sequence[Grid]) -> Path:
    """Write grids into a file, whole or not at all."""
    texts = [render(grid) for grid in grids]
    text = f"[{','.join(texts)}]\n" if path.suffix == ".json" else "\n".join(texts)
    return write_whole(path, text)
