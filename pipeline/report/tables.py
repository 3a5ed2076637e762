"""The tables of a line, from the store."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Engine

from pipeline.execute.plan import Line
from pipeline.model import Workload
from pipeline.report.relative import Column, Table, absolute_table
from pipeline.store.queries import RunRow, rows, runs

GROUPS = (
    "point queries",
    "range queries without aggregation",
    "range queries with aggregation",
    "writes",
)
"""The published order of the groups; groups of other families follow in their own order."""


def measured_table(store: Engine, line: Line, workload: Workload, metric: str) -> Table | None:
    """Return the absolute table of a measured line; None while nothing was measured."""
    labels = [revision.label for revision in line.revisions]
    keys = line.keys(workload)
    found = runs(store, cells=keys)
    columns = _columns(labels, found)
    if not columns:
        return None
    return absolute_table(
        title=f"{line.name}, {workload.name}",
        metric=metric,
        columns=columns,
        rows=rows(store, cells=keys, metrics=[metric]),
        groups=GROUPS,
    )


def imported_table(store: Engine, line: str, metric: str) -> Table:
    """Return the absolute table of an imported line."""
    found = sorted(runs(store, line=line), key=lambda run: run.order)
    return absolute_table(
        title=line,
        metric=metric,
        columns=_columns([run.revision for run in found], found),
        rows=rows(store, line=line, metrics=[metric]),
        groups=GROUPS,
    )


def _columns(labels: Sequence[str], found: Sequence[RunRow]) -> list[Column]:
    by_label = {run.revision: run for run in found}
    return [
        Column(label=label, name=by_label[label].name, target=by_label[label].target)
        for label in labels
        if label in by_label
    ]
