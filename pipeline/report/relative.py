"""Values of one metric along a line: medians of the runs, and their ratios to a base revision."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from pipeline.model import Frozen, StepStatus
from pipeline.storage.measurements import MeasurementRow
from pipeline.text.errors import UserError, did_you_mean


class Column(Frozen):
    """One column of a table: a revision, with its label and its DBMS."""

    label: str
    name: str
    target: str = ""


class TableRow(Frozen):
    """One row of a table: a step, and its values, which are None where it failed or did not run."""

    step: str
    values: tuple[float | None, ...]


class StepGroup(Frozen):
    """The rows of a table that belong to one group of steps."""

    name: str
    rows: tuple[TableRow, ...]


class Table(Frozen):
    """A table of one metric: steps by revisions.

    ``base`` is the column that values were divided by, which is then not among the columns; None
    for absolute values.
    """

    title: str
    metric: str
    base: Column | None
    columns: tuple[Column, ...]
    groups: tuple[StepGroup, ...]

    def by_step(self) -> dict[str, tuple[float | None, ...]]:
        """Return the values of each step, in the order of the columns."""
        return {row.step: row.values for group in self.groups for row in group.rows}


def absolute_table(
    title: str,
    metric: str,
    columns: Sequence[Column],
    rows: Iterable[MeasurementRow],
    groups: Sequence[str] = (),
) -> Table:
    """Return the medians of a metric over the runs: steps by revisions.

    Repetitions in which a step failed its SLA count only if the step failed its SLA in all of them.
    Groups come in the given order, then others in the order of appearance; the steps of a group
    come in the order of appearance.
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
            StepGroup(
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


def position_of(title: str, columns: Sequence[Column], base: str) -> int:
    """Return which column of a table is the base; by default the first.

    Raises UserError for an unknown base.
    """
    if not base:
        return 0
    for at, column in enumerate(columns):
        if base in (column.label, column.name):
            return at
    hint = did_you_mean(base, [column.label for column in columns])
    raise UserError(f"{title} has no base {base!r}; {hint}")


def relative_to(table: Table, base: str) -> Table:
    """Return a table with all values divided by those of the base column.

    ``base`` is a label or published name of a column, by default the first. A step without a value
    in the base column has no relative values. Raises UserError for an unknown base.
    """
    at = position_of(table.title, table.columns, base)
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


def ratio(value: float | None, base: float | None) -> float | None:
    """Return value / base; None if one of them is missing or the base is zero."""
    return value / base if value is not None and base else None


def compared(table: Table, base: str = "") -> Table:
    """Return a table relative to one of its columns, by default the first.

    A table with one column has nothing to compare with and stays absolute. Raises UserError for an
    unknown base.
    """
    relative = relative_to(table, base)
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
    return tuple(ratio(value, base) for place, value in enumerate(values) if place != at)


def _without(columns: Sequence[Column], at: int) -> tuple[Column, ...]:
    return tuple(column for place, column in enumerate(columns) if place != at)
