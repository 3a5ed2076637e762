"""The layout of tproc-c (new orders per minute): a row for each number of users and warehouses."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.report.grid import Grid, GridRow, TableSection
from pipeline.report.layouts.base import TableOptions
from pipeline.report.layouts.sheet import Sheet, notes_of, sheet_of
from pipeline.report.tables import MeasuredSubject

FAMILY = "tproc-c"
METRIC = "nopm"

_UNSET = 1
"""The number of warehouses of a workload that sets none."""

_RATIO_DECIMALS = 3
"""Number of decimals of ratios, as in the published reports."""


def nopm(subjects: Sequence[MeasuredSubject], options: TableOptions) -> list[Grid]:
    """Return the tables of new orders per minute, absolute and relative."""
    metric = options.metric or METRIC
    subjects = [subject for subject in subjects if subject.table(metric).groups]
    if not subjects:
        return []
    sheet = sheet_of(subjects, metric, _part)
    title = " and ".join(dict.fromkeys(subject.name for subject in subjects))
    notes = notes_of(subjects, _scale)
    sheets = [] if sheet.base else [sheet]
    if sheet.base or len(sheet.columns) > 1:
        sheets.append(sheet.relative(title, options.base))
    return [_grid(each, title, notes, options) for each in sheets]


def _grid(sheet: Sheet, title: str, notes: tuple[str, ...], options: TableOptions) -> Grid:
    return Grid(
        title=title,
        metric=sheet.metric,
        base=sheet.base,
        columns=sheet.columns,
        sections=(
            TableSection(
                of=FAMILY,
                heads=tuple(column.name for column in sheet.columns),
                rows=tuple(
                    GridRow(
                        name=part,
                        cells=tuple(
                            sheet.cell((part, column.name), options, _RATIO_DECIMALS)
                            for column in sheet.columns
                        ),
                    )
                    for part in sheet.parts
                ),
            ),
        ),
        rows_are="step",
        sections_are="group",
        names="first",
        notes=notes,
        decimals=options.decimals,
    )


def _part(subject: MeasuredSubject, step: str) -> str:
    """Return the name of a row: users and warehouses, or the published name of the step."""
    return _scale(subject) or step


def _scale(subject: MeasuredSubject) -> str:
    workload = subject.workload
    if workload.family != FAMILY:
        return ""
    warehouses = workload.options.get("warehouses", _UNSET)
    return f"vu={workload.scale.clients}, wh={warehouses}"
