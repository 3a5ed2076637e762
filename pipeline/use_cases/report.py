"""The report stage: write the tables of every line, and the report of the night."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.files.atomic_write import write_atomically
from pipeline.measure.plan import Plan
from pipeline.measure.run import unbuilt
from pipeline.regressions.detected import Detected
from pipeline.report.grid import Grid
from pipeline.report.layouts import LAYOUTS, by_layout
from pipeline.report.layouts.base import TableOptions
from pipeline.report.render import FORMATS
from pipeline.report.tables import MeasuredSubject, measured_subjects
from pipeline.site.night import NightReport, read_night, write_page
from pipeline.storage.journal import now
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.table import all_chosen_tables

_ENDINGS = {"markdown": "md", "csv": "csv", "json": "json"}
"""The file extensions of written tables, by format."""


class WrittenReport(NamedTuple):
    """The written files, and the content of the report."""

    tables: list[Path]
    page: Path
    night: NightReport


def write_report(context: MeasuringContext, plan: Plan) -> WrittenReport:
    """Write the tables of every line, the configured tables, and the report's page.

    For long lines, the tables and the page show the same revisions.
    """
    settings = context.config.report
    folder = context.results / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    at = now()
    detected = context.regressions.detection_of(plan, at)
    night = read_report(context, plan, detected, save=True)
    written = []
    for line in night.plan.lines:
        for layout, subjects in by_layout(measured_subjects(context.store, line)).items():
            for name, chosen in _files(layout, subjects).items():
                grids = LAYOUTS[layout].make(chosen, TableOptions(settings))
                written += [
                    _write(folder / f"{name}.{_ENDINGS[form]}", FORMATS[form], grids)
                    for form in _ENDINGS
                    if grids
                ]
    for name, grids in all_chosen_tables(context).items():
        written += [
            _write(folder / f"table-{name}.{_ENDINGS[form]}", FORMATS[form], grids)
            for form in _ENDINGS
        ]
    page = write_page(context.results / "report.html", night, detected, at)
    return WrittenReport(written, page, night)


def read_report(
    context: MeasuringContext, plan: Plan, detected: Detected, *, save: bool
) -> NightReport:
    """Read from the store the content of a plan's report."""
    unbuilt_cells = unbuilt(context.results, plan.cells)
    settings = context.config.report
    return read_night(
        context.store, plan, detected, settings, unbuilt_cells, context.results, save=save
    )


def _files(layout: str, subjects: Sequence[MeasuredSubject]) -> dict[str, list[MeasuredSubject]]:
    """Return the subjects of a layout's tables, by file name.

    A layout that compares revisions has a file for each workload and number of clients; a layout
    that compares workloads has one file.
    """
    if layout != "relative":
        return {f"{subjects[0].line}-{layout}": list(subjects)}
    return {
        f"{each.line}-{each.workload.name}-{each.workload.scale.clients}c": [each]
        for each in subjects
    }


def _write(path: Path, render: Callable[[Grid], str], grids: Sequence[Grid]) -> Path:
    """Write tables to a file, completely or not at all."""
    texts = [render(grid) for grid in grids]
    text = f"[{','.join(texts)}]\n" if path.suffix == ".json" else "\n".join(texts)
    return write_atomically(path, text)
