"""The layouts of the Insert Benchmark: a row for each revision, a column for each step."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.model import digest
from pipeline.report.cells import RATIO_DECIMALS, value_cell
from pipeline.report.grid import MISSED_SIGN, Grid, GridRow, TableCell, TableSection
from pipeline.report.layouts.base import THROUGHPUT, TableOptions
from pipeline.report.layouts.blocks import Block, Head, block_grid, explained_once
from pipeline.report.layouts.sheet import Sheet, notes_of, sheet_of
from pipeline.report.tables import MeasuredSubject
from pipeline.storage.derive.background import SUSTAINED

FAMILY = "insert_benchmark"

BACKGROUND = ("inserts", "deletes")
"""The kinds of background work during the queries."""

_GIGA = 1 / 1024**3

DETAILS: tuple[Block, ...] = (
    (
        # A step that measures inserts has no background inserts: its writes are its own.
        Head("ips", ("inserts/s", "qps"), 0, help="rows inserted per second"),
        Head("qps", ("qps",), 0, help="what the step measures per second: rows, or queries"),
        Head("rpq", ("r/o",), help="reads from storage per query"),
        Head("rkbpq", ("rKB/o",), help="KB read from storage per query"),
        Head("wpi", ("w/i", "w/o"), 3, help="writes to storage per insert"),
        Head("wkbpi", ("wKB/i", "wKB/o"), 3, help="KB written to storage per insert"),
        Head("cspq", ("cs/o",), help="context switches of the host per query"),
        Head("cpupq", ("cpu_us/o",), 1, help="CPU time of the server per query, us"),
        Head("dbgb", ("dbsize",), 2, _GIGA, help="size of the database after the step, GB"),
        Head("rss", ("rss",), 2, _GIGA, help="resident memory of the server, GB"),
        Head("maxop", ("latency_max",), 3, 1e-3, help="longest response time, s"),
        Head("p50", ("latency_p50",), 3, help="median response time, ms"),
        Head("p99", ("latency_p99",), 3, help="99th percentile of the response time, ms"),
    ),
)
"""The columns of a step's table, as in the published reports."""


def insert_benchmark(subjects: Sequence[MeasuredSubject], options: TableOptions) -> list[Grid]:
    """Return the tables of throughput, relative throughput and background rates.

    Workloads that differ only in name and configuration share one table.
    """
    grids = []
    for same in _same_work(subjects):
        title = " and ".join(dict.fromkeys(subject.name for subject in same))
        sheet = sheet_of(same, options.metric or THROUGHPUT, _step)
        if not sheet.parts:
            continue
        notes = notes_of(same, lambda _: "")
        sheets = [] if sheet.base else [sheet]
        if sheet.base or len(sheet.columns) > 1:
            sheets.append(sheet.relative(title, options.base))
        for each in sheets:
            grids.append(_grid(each, title, _rows(each, options), notes, options))
        if not options.metric:
            grids += [
                grid
                for name in BACKGROUND
                if (grid := _background(same, name, title, notes, options)) is not None
            ]
    return grids


def details(subjects: Sequence[MeasuredSubject], options: TableOptions) -> list[Grid]:
    """Return the tables with all columns of the published summaries, one for each step."""
    return explained_once(
        block_grid(each, DETAILS, "per step", options, relative=False)
        for each in subjects
        if each.workload.family == FAMILY
    )


def _same_work(subjects: Sequence[MeasuredSubject]) -> list[list[MeasuredSubject]]:
    by_work: dict[str, list[MeasuredSubject]] = {}
    for subject in subjects:
        work = subject.workload.model_dump(mode="json", exclude={"name"})
        by_work.setdefault(digest(work), []).append(subject)
    return list(by_work.values())


def _step(subject: MeasuredSubject, step: str) -> str:
    return step


def _rows(sheet: Sheet, options: TableOptions) -> list[GridRow]:
    return [
        GridRow(
            name=column.name,
            cells=tuple(
                sheet.cell((step, column.name), options, RATIO_DECIMALS) for step in sheet.parts
            ),
        )
        for column in sheet.columns
    ]


def _background(
    subjects: Sequence[MeasuredSubject],
    name: str,
    title: str,
    notes: tuple[str, ...],
    options: TableOptions,
) -> Grid | None:
    """Return the table of actual background rates, with the target rates."""
    targets = sheet_of(subjects, f"{name}_target", _step)
    achieved = sheet_of(subjects, f"{name}/s", _step)
    if not targets.values:
        return None
    rows = [
        GridRow(
            name="target",
            cells=tuple(
                value_cell(
                    max(
                        targets.values[step, column.name]
                        for column in targets.columns
                        if (step, column.name) in targets.values
                    ),
                    options.decimals or 0,
                )
                for step in targets.parts
            ),
        )
    ]
    rows += [
        GridRow(
            name=column.name,
            cells=tuple(
                _rate(
                    achieved.values.get((step, column.name)),
                    targets.values.get((step, column.name)),
                    options,
                )
                for step in targets.parts
            ),
        )
        for column in achieved.columns
    ]
    sheet = Sheet(f"{name}/s", targets.parts, achieved.columns, {}, {}, None)
    return _grid(sheet, title, rows, notes, options)


def _rate(rate: float | None, target: float | None, options: TableOptions) -> TableCell:
    cell = value_cell(rate, options.decimals or 0)
    if rate is None or target is None or rate >= SUSTAINED * target:
        return cell
    missed = {"tone": "worse", "colour": options.settings.missed_colour, "signs": MISSED_SIGN}
    return cell.model_copy(update=missed)


def _grid(
    sheet: Sheet, title: str, rows: Sequence[GridRow], notes: tuple[str, ...], options: TableOptions
) -> Grid:
    missed = any(MISSED_SIGN in cell.signs for row in rows for cell in row.cells)
    reported = (f"{MISSED_SIGN} below {SUSTAINED:.0%} of the target",) if missed else ()
    return Grid(
        title=title,
        metric=sheet.metric,
        base=sheet.base,
        columns=sheet.columns,
        sections=(TableSection(of="", stub="dbms", heads=sheet.parts, rows=tuple(rows)),),
        rows_are="dbms",
        sections_are="group",
        names="first",
        notes=(*reported, *notes),
        decimals=options.decimals,
    )
