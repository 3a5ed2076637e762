"""Figures of one metric along a line: medians, and each revision's divided by the base's."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from pipeline.errors import UserError, meant
from pipeline.model import Frozen, StepStatus
from pipeline.store.queries import Row


class Column(Frozen):
    """One revision of a table: its label on the line, its published name, and its DBMS."""

    label: str
    name: str
    target: str = ""


class TableRow(Frozen):
    """One step: its values by column; None where it was not measured or failed."""

    step: str
    values: tuple[float | None, ...]


class Group(Frozen):
    """The steps of one group."""

    name: str
    rows: tuple[TableRow, ...]


class Table(Frozen):
    """A table of one metric along a line.

    ``base`` is the column that values were divided by, which is then not among the columns;
    None when the values are absolute.
    """

    title: str
    metric: str
    base: Column | None
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]


def absolute_table(
    title: str,
    metric: str,
    columns: Sequence[Column],
    rows: Iterable[Row],
    groups: Sequence[str] = (),
) -> Table:
    """Return the medians over the repetitions, steps by columns.

    Repetitions in which a step failed its SLA stand for it only where it failed in all. Groups
    come in the order given, others after them in the order met; the steps of a group come in the
    order they were first met.
    """
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    failed: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        if row.metric == metric:
            place = (row.group, row.step)
            values.setdefault(place, {})
            kept = failed if row.status == StepStatus.SLA_FAILED else values
            kept.setdefault(place, {}).setdefault(row.revision, []).append(row.value)
    met = list(dict.fromkeys(group for group, _ in values))
    order = [group for group in groups if group in met]
    order += [group for group in met if group not in order]
    return Table(
        title=title,
        metric=metric,
        base=None,
        columns=tuple(columns),
        groups=tuple(
            Group(
                name=group,
                rows=tuple(
                    TableRow(
                        step=step,
                        values=_medians(columns, failed.get((of, step), {}) | by_revision),
                    )
                    for (of, step), by_revision in values.items()
                    if of == group
                ),
            )
            for group in order
        ),
    )


def relative_to(table: Table, base: str) -> Table:
    """Return the table with every value divided by the base's of the same step.

    ``base`` is a label or published name of a column. A step that the base lacks has no
    relative values. Raises UserError for an unknown base.
    """
    labels = [name for column in table.columns for name in (column.label, column.name)]
    if base not in labels:
        known = [column.label for column in table.columns]
        hint = meant(base, known)
        raise UserError(f"there is no {base!r} to compare with in {table.title}; {hint}")
    at = labels.index(base) // 2
    return table.model_copy(
        update={
            "base": table.columns[at],
            "columns": _without(table.columns, at),
            "groups": tuple(
                group.model_copy(
                    update={
                        "rows": tuple(
                            TableRow(step=row.step, values=_ratios(row.values, at))
                            for row in group.rows
                        )
                    }
                )
                for group in table.groups
            ),
        }
    )


def compared(table: Table, base: str = "") -> Table:
    """Return the table relative to a base, by default its first column.

    A table of one column has nothing to compare with and stays absolute. Raises UserError for
    an unknown base.
    """
    relative = relative_to(table, base or table.columns[0].label)
    return relative if relative.columns else table


def _medians(
    columns: Sequence[Column], values: Mapping[str, Sequence[float]]
) -> tuple[float | None, ...]:
    return tuple(
        statistics.median(values[column.label]) if values.get(column.label) else None
        for column in columns
    )


def _ratios(values: Sequence[float | None], at: int) -> tuple[float | None, ...]:
    base = values[at]
    return tuple(
        value / base if value is not None and base else None
        for place, value in enumerate(values)
        if place != at
    )


def _without(columns: Sequence[Column], at: int) -> tuple[Column, ...]:
    return tuple(column for place, column in enumerate(columns) if place != at)
