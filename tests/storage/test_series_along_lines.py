"""Series of lines from the columns of the store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np

from pipeline.model import Mode, StepStatus
from pipeline.storage.columns import MeasurementColumns
from pipeline.storage.columns_file import MeasurementTable, StepMetric
from pipeline.storage.runs import RunHead
from pipeline.storage.series import Series

LINE = ["17.9", "17.10", "17.10#2", "17.11"]
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


class Row(NamedTuple):
    """A measurement, the only one of its run."""

    revision: str = "17.9"
    config: str = "x10a"
    build_options: str = "official"
    machine_class: str = "tested"
    workload: str = "cached"
    workload_hash: str = "h"
    clients: int = 1
    step: str = "scan"
    metric: str = "qps"
    repetition: int = 1
    value: float = 1.0
    status: str = "ok"
    disturbed: bool = False
    cell: str = "in the plan"
    mode: Mode = Mode.TIME


def row(**changed: Any) -> Row:
    return Row(**changed)


def along(line: str, rows: Sequence[Row]) -> list[Series]:
    """The series of rows, each of a run of its own, in the order of the rows."""
    heads = [
        RunHead(
            run_id=str(at),
            cell_key=one.cell,
            revision=one.revision,
            revision_at=None,
            repetition=one.repetition,
            target="postgres",
            config=one.config,
            build_options=one.build_options,
            build_hash="b",
            machine="m",
            machine_class=one.machine_class,
            workload=one.workload,
            workload_hash=one.workload_hash,
            clients=one.clients,
            mode=one.mode,
            started_at=BEGAN + timedelta(minutes=at),
            ended_at=BEGAN + timedelta(minutes=at + 1),
            digest=str(at),
        )
        for at, one in enumerate(rows)
    ]
    figures = [StepMetric(one.step, "range", "rows", one.metric) for one in rows]
    known = list(dict.fromkeys(figures))
    table = MeasurementTable(
        run=np.arange(len(rows), dtype=np.int32),
        figure=np.array([known.index(figure) for figure in figures], dtype=np.int32),
        place=np.zeros(len(rows), dtype=np.int16),
        sla_failed=np.array([one.status == StepStatus.SLA_FAILED for one in rows]),
        disturbed=np.array([one.disturbed for one in rows]),
        value=np.array([one.value for one in rows]),
    )
    return MeasurementColumns(heads, known, table).series_along(line, LINE, {"in the plan"})


def test_points_follow_the_line_and_then_the_repetition() -> None:
    rows = [
        row(revision="17.11", repetition=2, value=6.0),
        row(revision="17.9", repetition=2, value=2.0),
        row(revision="17.11", repetition=1, value=5.0),
        row(revision="17.10#2", value=4.0),
        row(revision="17.9", repetition=1, value=1.0),
        row(revision="17.10", value=3.0),
    ]
    (found,) = along("minors", rows)
    assert [point.value for point in found.points] == [1, 2, 3, 4, 5, 6]
    assert [point.position for point in found.points] == [0, 0, 1, 2, 3, 3]
    assert found.key.line == "minors"


def test_revisions_of_other_lines_are_skipped() -> None:
    assert along("minors", [row(revision="18.0")]) == []
    assert along("minors", [row(cell="of another plan")]) == []


def test_a_revision_that_was_not_measured_leaves_its_position_empty() -> None:
    (found,) = along("minors", [row(), row(revision="17.11")])
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
    found = along("minors", rows)
    assert len(found) == len(rows)
    assert all(len(one.points) == 1 for one in found)


def test_series_come_in_the_order_in_which_they_were_met() -> None:
    rows = [row(step="b"), row(step="a"), row(step="b", repetition=2)]
    assert [one.key.step for one in along("minors", rows)] == ["b", "a"]


def test_a_step_that_failed_its_sla_has_points_only_of_what_it_failed() -> None:
    rows = [
        row(status="sla failed", metric="qps", value=900.0),
        row(status="sla failed", metric="sla", value=0.6),
        row(revision="17.10", metric="qps", value=1.0),
    ]
    found = {one.key.metric: one.points for one in along("line", rows)}
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
    (found,) = along("minors", rows)
    assert [point.value for point in found.points] == [1, 3, 4, 5, 6]


def test_a_disturbed_step_says_nothing_of_others() -> None:
    rows = [row(step="a", disturbed=True), row(step="b"), row(step="b", repetition=2)]
    assert [len(one.points) for one in along("minors", rows)] == [1, 2]
