from __future__ import annotations

from typing import Any

from pipeline.analyse.series import series_along
from pipeline.store.queries import Row

_ROW = Row(
    target="postgres",
    revision="17.9",
    line=None,
    config="x10a",
    build_options="official",
    machine_class="tested",
    workload="cached",
    workload_hash="h",
    clients=1,
    step="scan",
    group="range",
    unit="rows",
    metric="qps",
    repetition=1,
    value=1.0,
    run_id="r",
    status="ok",
)
LINE = ["17.9", "17.10", "17.10#2", "17.11"]


def row(**changed: Any) -> Row:
    return _ROW._replace(**changed)


def test_points_follow_the_line_and_then_the_repetition() -> None:
    rows = [
        row(revision="17.11", repetition=2, value=6.0),
        row(revision="17.9", repetition=2, value=2.0),
        row(revision="17.11", repetition=1, value=5.0),
        row(revision="17.10#2", value=4.0),
        row(revision="17.9", repetition=1, value=1.0),
        row(revision="17.10", value=3.0),
    ]
    (found,) = series_along("minors", LINE, rows)
    assert [point.value for point in found.points] == [1, 2, 3, 4, 5, 6]
    assert [point.position for point in found.points] == [0, 0, 1, 2, 3, 3]
    assert found.key.line == "minors"


def test_revisions_of_other_lines_are_passed_over() -> None:
    assert series_along("minors", LINE, [row(revision="18.0")]) == []


def test_a_revision_that_was_not_measured_leaves_its_position_empty() -> None:
    (found,) = series_along("minors", LINE, [row(), row(revision="17.11")])
    assert [point.position for point in found.points] == [0, 3]


def test_whatever_is_fixed_along_a_series_sets_series_apart() -> None:
    differing = {
        "config": "x10b",
        "build_options": "o3",
        "machine_class": "other",
        "workload": "other",
        "workload_hash": "other",
        "clients": 2,
        "step": "other",
        "metric": "cs/o",
    }
    rows = [row(), *(row(**{name: value}) for name, value in differing.items())]
    found = series_along("minors", LINE, rows)
    assert len(found) == len(rows)
    assert all(len(one.points) == 1 for one in found)


def test_series_come_in_the_order_in_which_they_were_met() -> None:
    rows = [row(step="b"), row(step="a"), row(step="b", repetition=2)]
    assert [one.key.step for one in series_along("minors", LINE, rows)] == ["b", "a"]


def test_a_step_that_failed_its_sla_has_points_only_of_what_it_failed() -> None:
    rows = [
        row(status="sla failed", metric="qps", value=900.0),
        row(status="sla failed", metric="sla", value=0.6),
        row(revision="17.10", metric="qps", value=1.0),
    ]
    found = {one.key.metric: one.points for one in series_along("line", LINE, rows)}
    assert [point.revision for point in found["qps"]] == ["17.10"]
    assert [point.value for point in found["sla"]] == [0.6]


def test_what_was_disturbed_counts_only_where_nothing_else_does() -> None:
    rows = [
        row(repetition=1, value=1.0),
        row(repetition=2, value=9.0, disturbed=True),
        row(repetition=3, value=3.0),
        row(revision="17.10", repetition=1, value=4.0, disturbed=True),
        row(revision="17.10", repetition=2, value=5.0, disturbed=True),
        row(revision="17.11", repetition=1, value=6.0),
    ]
    (found,) = series_along("minors", LINE, rows)
    assert [point.value for point in found.points] == [1, 3, 4, 5, 6]


def test_a_disturbed_step_says_nothing_of_others() -> None:
    rows = [row(step="a", disturbed=True), row(step="b"), row(step="b", repetition=2)]
    assert [len(one.points) for one in series_along("minors", LINE, rows)] == [1, 2]
