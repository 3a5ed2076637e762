"""The status as a table: series by days, each value relative to the accepted level."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from pipeline.config import ReportSection
from pipeline.model import Mode, SeriesKey
from pipeline.regressions.accepted import DayValue, SeriesStatus
from pipeline.report.cells import colour_of
from pipeline.report.grid import MISSING, Grid, GridRow, TableCell, TableSection

_UNCHANGED = "·"
"""The text of a value within the smallest change of interest."""


def status_grids(
    rows: Sequence[SeriesStatus], days: Sequence[date], settings: ReportSection
) -> list[Grid]:
    """Return a table for each line, in the order of its series; ``days`` are the columns."""
    lines = dict.fromkeys(row.key.line for row in rows)
    return [_grid(line, [r for r in rows if r.key.line == line], days, settings) for line in lines]


def _grid(
    line: str, rows: Sequence[SeriesStatus], days: Sequence[date], settings: ReportSection
) -> Grid:
    setups = dict.fromkeys(_setup(row.key) for row in rows)
    heads = (*(f"{day:%m-%d}" for day in days), "level", "since")
    return Grid(
        title=line,
        metric="",
        what="change from the accepted level, by day",
        base=None,
        columns=(),
        sections=tuple(
            TableSection(
                of=setup,
                title=setup,
                heads=heads,
                rows=tuple(_row(row, days, settings) for row in rows if _setup(row.key) == setup),
            )
            for setup in setups
        ),
        rows_are="step",
        sections_are="group",
        names="last",
        notes=tuple(dict.fromkeys(_reason(row) for row in rows if row.level.fingerprint)),
    )


def _row(row: SeriesStatus, days: Sequence[date], settings: ReportSection) -> GridRow:
    level = row.level
    since = level.fingerprint[:6] if level.fingerprint else level.revision
    return GridRow(
        name=f"{row.key.step} {row.key.metric}",
        cells=(
            *(_cell(row.key.metric, row.days.get(day), settings) for day in days),
            TableCell(value=level.value, text=f"{level.value:.4g}"),
            TableCell(value=None, text=since),
        ),
    )


def _cell(metric: str, value: DayValue | None, settings: ReportSection) -> TableCell:
    if value is None:
        return TableCell(value=None, text=MISSING)
    if not value.tone:
        return TableCell(value=value.change, text=_UNCHANGED)
    return TableCell(
        value=value.change,
        text=f"{100 * value.change:+.1f}%",
        tone="worse" if value.tone == "worse" else "better",
        colour=colour_of(metric, 1.0 + value.change, settings),
    )


def _setup(key: SeriesKey) -> str:
    mode = ", counted" if key.mode is Mode.COUNT else ""
    return (
        f"{key.workload}, {key.clients}c, {key.config}, {key.build_options}, "
        f"{key.machine_class}{mode}"
    )


def _reason(row: SeriesStatus) -> str:
    level = row.level
    when = f" on {level.at:%Y-%m-%d}" if level.at is not None else ""
    why = f": {level.note}" if level.note else ""
    return f"{level.fingerprint[:6]}: accepted by {level.by}{when} from {level.revision} on{why}"
