from __future__ import annotations

from typing import Any

import pytest

from pipeline.report.relative import Column, Table, absolute_table, compared, relative_to
from pipeline.storage.measurements import MeasurementRow
from pipeline.text.errors import UserError

COLUMNS = [Column(label=label, name=f"pg-{label}") for label in ("17.9", "17.10", "17.11")]


def row(revision: str, value: float, step: str = "scan", **changed: Any) -> MeasurementRow:
    fixed = MeasurementRow(
        target="postgres",
        revision=revision,
        line=None,
        config="x10a",
        build_options="official",
        machine_class="tested",
        workload="cached",
        workload_hash="h",
        clients=1,
        step=step,
        group="reads",
        unit="rows",
        metric="qps",
        repetition=1,
        value=value,
        run_id="r",
        status="ok",
    )
    return fixed._replace(**changed)


def table(*rows: MeasurementRow, groups: tuple[str, ...] = ()) -> Table:
    return absolute_table("a title", "qps", COLUMNS, rows, groups)


def values(of: Table) -> dict[str, tuple[float | None, ...]]:
    return {row.step: row.values for group in of.groups for row in group.rows}


def test_the_median_of_the_repetitions_stands_for_them() -> None:
    made = table(
        *(row("17.9", value, repetition=n) for n, value in enumerate((10.0, 90.0, 20.0), 1)),
        *(row("17.10", value, repetition=n) for n, value in enumerate((1.0, 2.0), 1)),
    )
    assert values(made) == {"scan": (20.0, 1.5, None)}
    assert made.base is None


def test_other_metrics_and_other_revisions_are_left_out() -> None:
    made = table(row("17.9", 1.0), row("17.9", 7.0, metric="cs/o"), row("18.0", 5.0))
    assert values(made) == {"scan": (1.0, None, None)}


def test_groups_come_in_the_given_order_and_steps_as_first_seen() -> None:
    made = table(
        row("17.9", 1.0, "z", group="unknown"),
        row("17.9", 1.0, "d", group="writes"),
        row("17.9", 1.0, "c", group="writes"),
        row("17.9", 1.0, "a", group="reads"),
        groups=("reads", "none of this", "writes"),
    )
    assert [(group.name, [row.step for row in group.rows]) for group in made.groups] == [
        ("reads", ["a"]),
        ("writes", ["d", "c"]),
        ("unknown", ["z"]),
    ]


def test_a_table_of_nothing_has_no_groups() -> None:
    assert table().groups == ()
    assert relative_to(table(), "17.9").groups == ()


@pytest.mark.parametrize("base", ["17.10", "pg-17.10"])
def test_values_are_divided_by_the_bases(base: str) -> None:
    made = table(row("17.9", 50.0), row("17.10", 100.0), row("17.11", 125.0))
    relative = relative_to(made, base)
    assert values(relative) == {"scan": (0.5, 1.25)}
    assert relative.base == COLUMNS[1]
    assert relative.columns == (COLUMNS[0], COLUMNS[2])


def test_what_the_base_lacks_has_no_relative_values() -> None:
    made = table(
        row("17.9", 50.0, "no base"),
        row("17.10", 0.0, "zero base"),
        row("17.11", 9.0, "zero base"),
        row("17.10", 2.0, "no others"),
    )
    assert values(relative_to(made, "17.10")) == {
        "no base": (None, None),
        "zero base": (None, None),
        "no others": (None, None),
    }


def test_a_value_of_zero_is_a_value() -> None:
    made = table(row("17.9", 0.0), row("17.10", 4.0))
    assert values(relative_to(made, "17.10")) == {"scan": (0.0, None)}


@pytest.mark.parametrize(
    ("base", "hint"), [("17.1", "did you mean 17.1"), ("xyz", "choose one of 17.9, 17.10, 17.11")]
)
def test_an_unknown_base_is_refused_with_what_was_meant(base: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        relative_to(table(row("17.9", 1.0)), base)
    assert str(caught.value).startswith(f"a title has no base {base!r}; {hint}")


def test_tables_are_compared_with_their_first_column() -> None:
    made = table(row("17.9", 50.0), row("17.10", 100.0))
    assert compared(made) == relative_to(made, "17.9")
    assert compared(made, "17.11") == relative_to(made, "17.11")


def test_a_single_column_has_nothing_to_be_compared_with() -> None:
    made = absolute_table("t", "qps", COLUMNS[:1], [row("17.9", 50.0)])
    assert compared(made) == made
    with pytest.raises(UserError, match="has no base '18'"):
        compared(made, "18")
