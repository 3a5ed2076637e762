"""The layout of tproc-c: a row for each number of virtual users and of warehouses."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.report.grid import Grid, GridRow, Section
from pipeline.report.layouts.base import Wish
from pipeline.report.layouts.sheet import Sheet, notes_of, sheet_of
from pipeline.report.tables import Subject

FAMILY = "tproc-c"
METRIC = "nopm"

_UNSET = 1
"""The warehouses of a workload that sets none."""

_RATIO_DECIMALS = 3
"""As published."""


def nopm(subjects: Sequence[Subject], wish: Wish) -> list[Grid]:
    """Return the new orders per minute, absolute and relative, of all workloads together."""
    metric = wish.metric or METRIC
    subjects = [subject for subject in subjects if subject.table(metric).groups]
    if not subjects:
        return []
    sheet = sheet_of(subjects, metric, _part)
    title = " and ".join(dict.fromkeys(subject.name for subject in subjects))
    notes = notes_of(subjects, _scale)
    sheets = [] if sheet.base else [sheet]
    if sheet.base or len(sheet.columns) > 1:
        sheets.append(sheet.relative(title, wish.base))
    return [_grid(each, title, notes, wish) for each in sheets]


def _grid(sheet: Sheet, title: str, notes: tuple[str, ...], wish: Wish) -> Grid:
    return Grid(
        title=title,
        metric=sheet.metric,
        base=sheet.base,
        columns=sheet.columns,
        sections=(
            Section(
                of=FAMILY,
                heads=tuple(column.name for column in sheet.columns),
                rows=tuple(
                    GridRow(
                        name=part,
                        cells=tuple(
                            sheet.cell((part, column.name), wish, _RATIO_DECIMALS)
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
        decimals=wish.decimals,
    )


def _part(subject: Subject, step: str) -> str:
    """Name a row: the scale of what was measured here; published steps are named so."""
    return _scale(subject) or step


def _scale(subject: Subject) -> str:
    workload = subject.workload
    if workload.family != FAMILY:
        return ""
    warehouses = workload.options.get("warehouses", _UNSET)
    return f"vu={workload.scale.clients}, wh={warehouses}"
