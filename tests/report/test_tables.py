from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Engine

from pipeline.measure.plan import Line
from pipeline.model import StepStatus, Workload
from pipeline.report.relative import Table, relative_to
from pipeline.report.tables import (
    GROUPS,
    measured_subject,
    measured_subjects,
    newest_revisions,
)
from pipeline.storage.database import open_store
from pipeline.storage.imported_lines import imported_lines
from pipeline.storage.ingest import ingest
from pipeline.storage.measurements import rows
from pipeline.storage.published import import_published, read_published
from pipeline.storage.runs import measured_cells
from pipeline.workloads.db_bench.catalogue import STEPS as db_bench_steps
from pipeline.workloads.sysbench import catalogue
from tests.site.page_store import STEPS, make_store, over_time


def measured_table(store: Engine, line: Line, workload: Workload, metric: str) -> Table:
    subject = measured_subject(store, line, workload)
    assert subject is not None
    return subject.table(metric)


def twice_as_fast(step: str, position: int, metric: str) -> float:
    return 2.0 if metric == "qps" and position else 1.0


def test_the_groups_are_in_the_published_order() -> None:
    loading = list(dict.fromkeys(step.group for step in db_bench_steps))
    assert [name for name in GROUPS if name in loading] == loading
    assert tuple(name for name in GROUPS if name in catalogue.GROUPS) == catalogue.GROUPS


def test_a_measured_line_is_a_table(tmp_path: Path) -> None:
    store, plan = make_store(tmp_path, {"minors": ["17.10", "17.11"]}, level=twice_as_fast)
    (line,) = plan.lines
    (workload,) = line.workloads()
    table = measured_table(store, line, workload, "qps")
    assert table.title == "minors, cached"
    assert [(c.label, c.name, c.target) for c in table.columns] == [
        ("17.10", "pg1710_official.x10a_c2r4", "postgres"),
        ("17.11", "pg1711_official.x10a_c2r4", "postgres"),
    ]
    used = {step.group for step in STEPS}
    assert [group.name for group in table.groups] == [name for name in GROUPS if name in used]
    for group in relative_to(table, "17.10").groups:
        for row in group.rows:
            (ratio,) = row.values
            assert ratio is not None
            assert 1.9 < ratio < 2.1


def test_the_columns_are_in_the_order_of_the_line(tmp_path: Path) -> None:
    revisions = ["17.9", "17.10", "17.10#2", "17.11"]
    store, plan = make_store(tmp_path, {"minors": revisions}, repetitions=2)
    table = measured_table(store, plan.lines[0], plan.lines[0].workloads()[0], "cpu_us/o")
    assert [column.label for column in table.columns] == revisions


def test_revisions_that_were_not_measured_are_no_columns(tmp_path: Path) -> None:
    store, plan = make_store(tmp_path, {"m": ["17.9", "17.10", "17.11"]}, left_out=["17.10"])
    table = measured_table(store, plan.lines[0], plan.lines[0].workloads()[0], "qps")
    assert [column.label for column in table.columns] == ["17.9", "17.11"]


def test_a_long_line_keeps_its_first_revision_and_its_newest(tmp_path: Path) -> None:
    revisions = ["17.7", "17.8", "17.9", "17.10", "17.11"]
    store, plan = make_store(tmp_path, {"m": revisions}, repetitions=1, left_out=["17.7"])
    (line,), measured = plan.lines, measured_cells(store)
    assert newest_revisions(line, measured, newest=2, long=4) == (line, 0)
    short, left_out = newest_revisions(line, measured, newest=2, long=3)
    (subject,) = measured_subjects(store, short)
    table = subject.table("qps")
    assert [column.label for column in table.columns] == ["17.8", "17.10", "17.11"]
    assert all(len(row.values) == 3 for group in table.groups for row in group.rows)
    assert left_out == 1
    with_base, left_out = newest_revisions(line, measured, newest=1, long=3, base="17.9")
    assert [revision.label for revision in with_base.revisions] == ["17.8", "17.9", "17.11"]
    assert left_out == 1


def test_steps_that_failed_everywhere_are_missing_and_elsewhere_a_gap(tmp_path: Path) -> None:
    def fails(step: str, revision: str, repetition: int) -> str:
        return "no" if revision == "17.11" and step.startswith("scan") else ""

    store, plan = make_store(tmp_path, {"m": ["17.10", "17.11"]}, fails=fails)
    table = measured_table(store, plan.lines[0], plan.lines[0].workloads()[0], "qps")
    values = {row.step: row.values for group in table.groups for row in group.rows}
    assert values["scan_range=100"][0] is not None
    assert values["scan_range=100"][1] is None
    assert None not in values["point-query_range=100"]


def test_each_number_of_clients_has_a_table_of_its_own(tmp_path: Path) -> None:
    store, plan = make_store(tmp_path, {"m": ["17.10", "17.11"]}, clients=(1, 4))
    one, four = (
        measured_table(store, plan.lines[0], workload, "qps")
        for workload in plan.lines[0].workloads()
    )
    assert one.groups != four.groups
    assert [one.title, four.title] == ["m, cached, 1 client", "m, cached, 4 clients"]


def test_nothing_measured_is_no_table(tmp_path: Path) -> None:
    store, plan = make_store(tmp_path, {"m": ["17.11"]}, left_out=["17.11"])
    assert measured_subject(store, plan.lines[0], plan.lines[0].workloads()[0]) is None
    assert measured_subjects(store, plan.lines[0]) == []


def test_what_was_remarked_of_steps_is_read_from_the_store(tmp_path: Path) -> None:
    store, plan = make_store(tmp_path, {"m": ["17.10", "17.11"]}, repetitions=2)
    scan, point = "scan_range=100", "point-query_range=100"
    missed = {"status": StepStatus.SLA_FAILED.value, "note": "50 of 100 inserts/s"}
    over_time(store, scan, "17.11", 1, **missed)
    over_time(store, point, "17.10", 2, marks=["still warming after 30 s"])
    subject = measured_subject(store, plan.lines[0], plan.lines[0].workloads()[0])
    assert subject is not None
    assert subject.notes() == (
        f"! {scan} at 17.11: SLA failed, 50 of 100 inserts/s",
        f"* {point} at 17.10: still warming after 30 s",
    )
    assert [subject.signs(scan, label) for label in ("17.10", "17.11")] == ["", "!"]
    assert subject.signs(point, "17.10", "17.11") == "*"
    # The repetition that did not sustain its rate is no part of the median.
    (kept,) = {
        row.value
        for row in rows(store, metrics=["qps"])
        if (row.step, row.revision, row.repetition) == (scan, "17.11", 2)
    }
    values = {row.step: row.values for group in subject.table("qps").groups for row in group.rows}
    assert values[scan][1] == kept


def test_an_imported_line_keeps_its_names_and_order(tmp_path: Path) -> None:
    path = tmp_path / "published.csv"
    path.write_text("# target: postgres\nstep,z-first,a second\nb,10,20\na,1,\n")
    bundles = tmp_path / "bundles"
    written = import_published(
        read_published(path),
        line="theirs",
        target="",
        machine_class="",
        bundles=bundles,
        at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    ingest(store, reversed(written))
    (subject,) = measured_subjects(store, imported_lines(store)[0])
    assert (subject.line, subject.title) == ("theirs", "theirs")
    table = subject.table("qps")
    assert [column.name for column in table.columns] == ["z-first", "a second"]
    assert {row.step: row.values for group in table.groups for row in group.rows} == {
        "b": (10.0, 20.0),
        "a": (1.0, None),
    }
