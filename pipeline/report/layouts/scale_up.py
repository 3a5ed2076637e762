"""The layout of scale-up: throughput with more clients relative to the fewest clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.report.cells import RATIO_DECIMALS, value_cell
from pipeline.report.grid import Grid, GridRow, TableSection
from pipeline.report.layouts.base import THROUGHPUT, TableOptions
from pipeline.report.relative import Column, ratio
from pipeline.report.tables import MeasuredSubject
from pipeline.text.units import plural


def scale_up(subjects: Sequence[MeasuredSubject], options: TableOptions) -> list[Grid]:
    """Return a table for each workload that was measured with several numbers of clients.

    The grid has a section per revision; a row is a step, a column is a number of clients X, and a
    value is QPS(X) / QPS(fewest). A value of 1 means that more clients gain nothing; X / fewest is
    perfect.
    """
    by_name: dict[str, dict[int, MeasuredSubject]] = {}
    for subject in subjects:
        by_name.setdefault(subject.name, {})[subject.workload.scale.clients] = subject
    return [
        _grid(dict(sorted(found.items())), options) for found in by_name.values() if len(found) > 1
    ]


def _grid(by_clients: Mapping[int, MeasuredSubject], options: TableOptions) -> Grid:
    fewest, *_ = by_clients
    columns = dict.fromkeys(column for subject in by_clients.values() for column in subject.columns)
    metric = options.metric or THROUGHPUT
    values: dict[str, dict[str, dict[int, float | None]]] = {}
    for clients, subject in by_clients.items():
        for group in subject.table(metric).groups:
            for row in group.rows:
                for column, value in zip(subject.columns, row.values, strict=True):
                    of_step = values.setdefault(column.name, {}).setdefault(row.step, {})
                    of_step[clients] = value
    return Grid(
        title=by_clients[fewest].name,
        metric="",
        what=f"scale-up, {metric}(X) / {metric}({fewest}) with X clients",
        base=None,
        columns=tuple(columns),
        sections=tuple(
            TableSection(
                of=column.name,
                title=column.name,
                stub="clients",
                heads=tuple(str(clients) for clients in by_clients),
                rows=tuple(
                    _row(by_clients, column, step, found, options)
                    for step, found in values.get(column.name, {}).items()
                ),
            )
            for column in columns
        ),
        rows_are="step",
        sections_are="dbms",
        names="last",
        notes=tuple(
            dict.fromkeys(
                f"{note} ({plural(clients, 'client')})"
                for clients, subject in by_clients.items()
                for note in subject.notes()
            )
        ),
        decimals=options.decimals,
    )


def _row(
    by_clients: Mapping[int, MeasuredSubject],
    column: Column,
    step: str,
    found: Mapping[int, float | None],
    options: TableOptions,
) -> GridRow:
    fewest = min(by_clients)
    base = found.get(fewest)
    # A ratio to a doubtful figure is doubtful, too.
    doubted = by_clients[fewest].signs(step, column.label)
    decimals = RATIO_DECIMALS if options.decimals is None else options.decimals
    return GridRow(
        name=step,
        cells=tuple(
            value_cell(
                ratio(found.get(clients), base),
                decimals,
                "".join(sorted(set(doubted + subject.signs(step, column.label)))),
            )
            for clients, subject in by_clients.items()
        ),
    )
