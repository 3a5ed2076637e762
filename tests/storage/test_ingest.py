"""Bundles become rows: each once, whole or not at all, whatever happens in between."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import psycopg
import pytest
import zstandard
from sqlalchemy import Engine, func, select, text

from pipeline.model import (
    BUNDLE_SCHEMA,
    Build,
    Control,
    Manifest,
    Origin,
    Pinning,
    Step,
    StepStatus,
)
from pipeline.probes.base import dump_samples
from pipeline.storage import bundle as bundle_module
from pipeline.storage.bundle import (
    BundleError,
    DamagedBundleError,
    NewerBundleError,
    list_bundles,
    read_bundle,
    write_bundle,
)
from pipeline.storage.controls import control_rows
from pipeline.storage.database import empty_store, open_store
from pipeline.storage.ingest import ingest
from pipeline.storage.measurements import count_measurements, rows
from pipeline.storage.runs import measured, runs, settings_of
from pipeline.storage.schema import metadata
from pipeline.storage.steps import disturbances_of, outcomes, stayed_disturbed
from pipeline.storage.write import Writer
from pipeline.text.errors import UserError

from .bundles import make_run, output, put_night, put_run, sample
from .dumps import by_names, with_ids

METRICS_OF_A_STEP = 12
"""qps, errors, five of latency, cpu/s, cpu/o, cpu_us/o, dbsize; see SAMPLES."""


def test_a_bundle_becomes_rows(store: Engine, tmp_path: Path) -> None:
    manifest, _ = make_run()
    report = ingest(store, [put_run(tmp_path)])
    assert (report.taken, report.known, report.refused) == (1, 0, [])
    found = list(rows(store))
    assert report.measurements == len(found) == count_measurements(store)
    assert {row.step for row in found} == {step.name for step in manifest.workload.steps}
    by_metric = {row.metric: row for row in found if row.step == "point-query_range=100"}
    qps = by_metric["qps"]
    # point-query.txt: 56222 events of one statement in 3.003 seconds.
    assert qps.value == pytest.approx(56222 / 3.0, rel=0.01)
    # SAMPLES: 2 s of processor time in 2.9 s, 3 of 6 seconds busy.
    assert by_metric["cpu_us/o"].value == pytest.approx(2e6 / 2.9 / qps.value)
    assert by_metric["cpu/s"].value == pytest.approx(50.0)
    assert by_metric["dbsize"].value == 8_000_001
    assert qps._replace(value=0) == (
        *("postgres", "17.1", None, "x10a", "official", "test", "cached"),
        manifest.workload.hash,
        *(1, "point-query_range=100", "point queries", "queries", "qps", 1, 0),
        *(manifest.run_id, "ok", False),
    )
    (run,) = runs(store)
    assert run.name == "pg171_official.x10a_c2r4"
    assert (run.order, run.origin, run.cell_key) == ([17, 1], "measured", manifest.cell_key)
    assert run.provenance == manifest.build.provenance.model_dump(mode="json")
    assert run.machine == manifest.machine.model_dump(mode="json")
    assert run.workload == manifest.workload.model_dump(mode="json")
    assert run.settings_id is not None
    assert settings_of(store, run.settings_id) == {"jit": "off", "server_version": "17.1"}
    assert measured(store) == {(manifest.cell_key, 1)}


MADE = datetime(2024, 2, 8, 12, 30, 5, tzinfo=UTC)


def made(manifest: Manifest, at: datetime | None) -> Build:
    provenance = manifest.build.provenance.model_copy(update={"made": at})
    return manifest.build.model_copy(update={"provenance": provenance})


def test_a_revision_was_made_when_it_or_its_build_says(store: Engine, tmp_path: Path) -> None:
    manifest, _ = make_run()
    commit = manifest.revision.model_copy(update={"at": MADE + timedelta(days=1)})
    put_run(tmp_path, repetition=1)
    put_run(tmp_path, repetition=2, build=made(manifest, MADE))
    put_run(tmp_path, repetition=3, build=made(manifest, MADE), revision=commit)
    ingest(store, list_bundles(tmp_path))
    assert [run.revision_at for run in runs(store)] == [None, MADE, MADE + timedelta(days=1)]


def test_what_was_measured_before_the_field_keeps_its_identity(
    store: Engine, tmp_path: Path
) -> None:
    manifest, _ = make_run()
    assert "made" not in manifest.model_dump_json()
    put_run(tmp_path, repetition=1)
    put_run(tmp_path, repetition=2, build=made(manifest, MADE))
    ingest(store, list_bundles(tmp_path))
    with store.connect() as connection:
        build = metadata.tables["build"].c
        hashes = list(connection.execute(select(build.hash).order_by(build.id)).scalars())
    # As the version before the field wrote it.
    assert hashes[0] == "f4147b5c467233630a1ae05c2939a626e974121e3989ad752b943b1dba412605"
    assert len(set(hashes)) == 2


def test_the_digest_of_a_run_follows_its_values(store: Engine, tmp_path: Path) -> None:
    put_run(tmp_path, repetition=1)
    put_run(tmp_path, repetition=2)
    put_run(tmp_path, repetition=3, faster=1.001)
    failed, files = make_run(repetition=4)
    steps = (*failed.steps[:-1], failed.steps[-1].model_copy(update={"status": StepStatus.FAILED}))
    write_bundle(tmp_path, failed.model_copy(update={"steps": steps}), files)
    ingest(store, list_bundles(tmp_path))
    digests = [run.digest for run in runs(store)]
    assert digests[0] == digests[1], "equal values, whenever they were measured"
    assert len({*digests}) == 3
    empty_store(store)
    ingest(store, list_bundles(tmp_path))
    assert [run.digest for run in runs(store)] == digests


def test_the_throughput_over_time_is_kept(store: Engine, tmp_path: Path) -> None:
    ingest(store, [put_run(tmp_path)])
    point = list(outcomes(store))[2]
    assert (point.step, point.status, point.note) == ("point-query_range=100", "ok", "")
    assert point.timeline == [
        [1.000109, pytest.approx(18256 / 1.000934), 0.062897],
        [2.000118, pytest.approx(18825 / 0.999820), 0.05959],
        [3.00006, pytest.approx(19141 / 0.999982), 0.058526],
    ]


def test_the_response_times_are_kept(store: Engine, tmp_path: Path) -> None:
    ingest(store, [put_run(tmp_path)])
    point = list(outcomes(store))[2]
    bounds = [bound for bound, _ in point.histogram]
    assert bounds == sorted(set(bounds))
    # The output says 56222 events, the longest of 1.843520 ms.
    assert sum(count for _, count in point.histogram) == 56222
    assert bounds[-2] < 1.843520 <= bounds[-1]
    assert all(count > 0 for _, count in point.histogram)


def test_times_are_utc_on_every_database(store: Engine, tmp_path: Path) -> None:
    started = datetime(2026, 3, 4, 1, 30, tzinfo=timezone(timedelta(hours=5)))
    ingest(store, [put_run(tmp_path, started_at=started, ended_at=started)])
    (run,) = runs(store)
    assert run.started_at == started
    assert run.started_at.utcoffset() == timedelta(0)


def test_a_bundle_is_taken_once(store: Engine, tmp_path: Path) -> None:
    paths = put_night(tmp_path)
    first = ingest(store, paths)
    before = with_ids(store)
    again = ingest(store, paths)
    assert (first.taken, first.known) == (6, 0)
    assert (again.taken, again.known, again.measurements) == (0, 6, 0)
    assert with_ids(store) == before


def test_a_bundle_that_is_given_twice_at_once_is_taken_once(store: Engine, tmp_path: Path) -> None:
    path = put_run(tmp_path)
    report = ingest(store, [path, path])
    assert (report.taken, report.known, report.refused) == (1, 1, [])


def test_a_run_is_of_the_line_and_the_control_of_its_manifest(
    store: Engine, tmp_path: Path
) -> None:
    night = date(2026, 1, 1)
    control = Control(name="pinned", machine="host", night=night)
    put_run(tmp_path, repetition=1, line="minors", pinning=Pinning(server=(0, 1), client=(2,)))
    put_run(tmp_path, repetition=2, control=control)
    ingest(store, list_bundles(tmp_path))
    first, second = runs(store)
    assert (first.line, second.line) == ("minors", None)
    assert (first.pinning["server"], first.pinning["client"]) == ([0, 1], [2])
    (row, *_) = found = list(control_rows(store, ["qps"]))
    assert {each.run_id for each in found} == {second.run_id}
    assert (row.control, row.night, row.machine["hostname"]) == ("pinned", night, "host")


def test_what_the_dbms_did_is_kept_with_its_mean(store: Engine, tmp_path: Path) -> None:
    manifest, files = make_run(sampled={"dbms.blks": "counter: blocks", "dbms.dirty": "gauge: MB"})
    samples = [sample(0.0, dbms__blks=10.0, dbms__dirty=4.0), sample(2.0, dbms__blks=50.0)]
    files["steps/03/samples.jsonl"] = dump_samples(samples)
    files["steps/02/samples.jsonl"] = dump_samples([sample(0.0, dbms__blks=10.0)])
    config = manifest.config.model_copy(update={"exceeds": 1 << 30})
    manifest = manifest.model_copy(update={"config": config})
    ingest(store, [write_bundle(tmp_path, manifest, files)])
    _, second, third = outcomes(store)
    assert third.activity == {"blks/s": [[2.0, 20.0]], "dirty": [[0.0, 4.0]]}
    # Of one reading of a counter there is no rate.
    assert second.activity == {"blks/s": []}
    with store.connect() as connection:
        table = metadata.tables["step_run"].c
        means = connection.execute(select(table.activity_mean).order_by(table.place)).scalars()
        assert list(means) == [{}, {}, {"blks/s": 20.0, "dirty": 4.0}]
    # A sentence on the size of the database is among what its figures are read with.
    (mark,) = third.marks
    assert mark.startswith("this result is not IO-bound")


def test_the_digest_of_a_run_follows_the_names_of_its_values(store: Engine, tmp_path: Path) -> None:
    for repetition, metric in enumerate(("qps", "errors"), start=1):
        manifest, _ = make_run(repetition=repetition, origin=Origin.IMPORTED)
        values = {step.name: {metric: 100.0} for step in manifest.workload.steps}
        write_bundle(tmp_path, manifest, {"values.json": json.dumps(values).encode()})
    ingest(store, list_bundles(tmp_path))
    first, second = runs(store)
    assert first.digest != second.digest


def test_progress_is_called_for_every_bundle(store: Engine, tmp_path: Path) -> None:
    paths = put_night(tmp_path)
    paths[0].write_bytes(b"damaged")
    ingest(store, paths[1:2])
    reported: list[None] = []
    ingest(store, paths, lambda: reported.append(None))
    assert len(reported) == len(paths)


def test_what_runs_share_is_kept_once(store: Engine, tmp_path: Path) -> None:
    ingest(store, put_night(tmp_path, minors=3, repetitions=4))
    counts = {name: len(found) for name, found in with_ids(store).items()}
    assert (counts["run"], counts["build"], counts["settings"]) == (12, 3, 3)
    assert counts["workload"] == counts["config"] == counts["machine"] == 1
    assert (counts["step"], counts["step_run"]) == (3, 36)


def test_damaged_bundles_are_refused_and_the_others_taken(store: Engine, tmp_path: Path) -> None:
    paths = put_night(tmp_path)
    whole = paths[1].read_bytes()
    paths[1].write_bytes(whole[: len(whole) // 2])
    paths[3].write_bytes(b"")
    report = ingest(store, paths)
    assert report.taken == 4
    assert [refused.path for refused in report.refused] == [paths[1], paths[3]]
    assert all(isinstance(refused, DamagedBundleError) for refused in report.refused)
    assert all("\n" not in str(refused) for refused in report.refused)
    # Once it is whole, it is taken like any other.
    paths[1].write_bytes(whole)
    assert ingest(store, paths[:3]).taken == 1


def test_a_newer_bundle_is_refused_as_such(store: Engine, tmp_path: Path) -> None:
    newer = put_run(tmp_path, 1, schema_version=BUNDLE_SCHEMA + 1)
    report = ingest(store, [newer, put_run(tmp_path, 2)])
    assert report.taken == 1
    assert [type(refused) for refused in report.refused] == [NewerBundleError]


def test_a_copy_under_another_name_is_refused(store: Engine, tmp_path: Path) -> None:
    path = put_run(tmp_path)
    copy = tmp_path / "copy.tar.zst"
    copy.write_bytes(path.read_bytes())
    report = ingest(store, list_bundles(tmp_path))
    assert report.taken == 1
    assert [(type(refused), refused.path) for refused in report.refused] == [(BundleError, copy)]


def changed_workload(**changes: Any) -> dict[str, Any]:
    return {"workload": make_run()[0].workload.model_copy(update=changes)}


def test_an_unknown_family_is_refused(store: Engine, tmp_path: Path) -> None:
    path = put_run(tmp_path, **changed_workload(family="sysbanch"))
    report = ingest(store, [path])
    (refused,) = report.refused
    # What this nightshift does not know is not damaged, and must not be measured over.
    assert isinstance(refused, NewerBundleError)
    assert "there is no workload family 'sysbanch'" in str(refused) and "\n" not in str(refused)
    assert (report.taken, runs(store)) == (0, [])


def test_an_unknown_step_is_refused(store: Engine, tmp_path: Path) -> None:
    manifest, files = make_run()
    steps = list(manifest.steps)
    unknown = steps[1].step.model_copy(update={"name": "skan_range=100"})
    steps[1] = steps[1].model_copy(update={"step": unknown})
    path = write_bundle(tmp_path, manifest.model_copy(update={"steps": tuple(steps)}), files)
    report = ingest(store, [path, put_run(tmp_path, 2)])
    (refused,) = report.refused
    assert isinstance(refused, NewerBundleError)
    assert "skan_range=100" in str(refused) and "\n" not in str(refused)
    assert [run.revision for run in runs(store)] == ["17.2"]


@pytest.mark.parametrize(
    ("member", "content"),
    [
        ("steps/02/stdout.txt", None),
        ("steps/02/samples.jsonl", b'{"at": 0}\n{"at": '),
        ("steps/02/samples.jsonl", b"[1]\n"),
        ("steps/02/samples.jsonl", b'{"host.cs": 5}\n'),
        ("settings.json", b"[1, 2"),
    ],
)
def test_a_bundle_that_cannot_be_understood_is_refused_whole(
    store: Engine, tmp_path: Path, member: str, content: bytes | None
) -> None:
    manifest, files = make_run()
    files.pop(member)
    if content is not None:
        files[member] = content
    report = ingest(store, [write_bundle(tmp_path, manifest, files), put_run(tmp_path, 2)])
    (refused,) = report.refused
    assert ("cannot be parsed") in str(refused) and "\n" not in str(refused)
    assert [run.revision for run in runs(store)] == ["17.2"]


def test_a_failed_step_is_kept_as_failed(store: Engine, tmp_path: Path) -> None:
    manifest, files = make_run()
    steps = list(manifest.steps)
    steps[0] = steps[0].model_copy(update={"status": StepStatus.FAILED, "note": "it crashed"})
    manifest = manifest.model_copy(update={"steps": tuple(steps)})
    # The second one was thought to be well, and its output says otherwise.
    files["steps/02/stdout.txt"] = output("killed")
    report = ingest(store, [write_bundle(tmp_path, manifest, files)])
    assert (report.taken, report.refused) == (1, [])
    found = list(outcomes(store))
    assert [(step.status, step.timeline == []) for step in found] == [
        ("failed", True),
        ("failed", True),
        ("ok", False),
    ]
    assert found[0].note == "it crashed"
    assert "killed" in found[1].note and "\n" not in found[1].note
    assert {row.step for row in rows(store)} == {"point-query_range=100"}


QR = """nightshift tally t=1.0 kind=queries events=100 operations=100 errors=0
nightshift tally-total seconds=2.0 kind=queries events=200 operations=200 errors=0 \
lat_sum_ms=100.0 lat_max_ms=1.0
nightshift tally-histogram kind=queries 300:200
nightshift tally-total seconds=2.0 kind=inserts events={done} operations={done} errors=0 \
lat_sum_ms=100.0 lat_max_ms=1.0
nightshift tally-histogram kind=inserts 300:{done}
nightshift tally-total seconds=2.0 kind=deletes events=200 operations=200 errors=0 \
lat_sum_ms=100.0 lat_max_ms=1.0
nightshift tally-histogram kind=deletes 300:200
"""
"""What a step of the Insert Benchmark with 100 inserts and deletes per second prints."""


@pytest.mark.parametrize(
    ("done", "status", "note"),
    [(200, "ok", "as it was noted"), (100, "sla failed", "50 of 100 inserts/s")],
)
def test_a_step_that_misses_its_rates_fails_its_sla_and_says_why(
    store: Engine, tmp_path: Path, done: int, status: str, note: str
) -> None:
    manifest, files = make_run()
    step = Step(name="qr100", group="range queries", unit="queries")
    workload = manifest.workload.model_copy(update={"family": "insert_benchmark", "steps": (step,)})
    record = manifest.steps[0].model_copy(update={"step": step, "note": "as it was noted"})
    files["steps/01/stdout.txt"] = QR.format(done=done).encode()
    manifest = manifest.model_copy(update={"workload": workload, "steps": (record,)})
    report = ingest(store, [write_bundle(tmp_path, manifest, files)])
    assert report.refused == []
    (found,) = outcomes(store)
    assert (found.status, found.note) == (status, note)
    # It has figures all the same.
    values = {row.metric: row.value for row in rows(store)}
    assert (values["qps"], values["inserts/s"]) == (100.0, done / 2)
    assert {row.status for row in rows(store)} == {status}


def test_a_disturbance_is_kept_however_the_step_ended(store: Engine, tmp_path: Path) -> None:
    manifest, files = make_run()
    said = {"steal": "the host took 5 % of the time"}
    first, second, third = (
        record.model_copy(update={"disturbed": said}) for record in manifest.steps
    )
    first = first.model_copy(update={"status": StepStatus.FAILED})
    files["steps/02/stdout.txt"] = output("killed")
    manifest = manifest.model_copy(update={"steps": (first, second, third)})
    ingest(store, [write_bundle(tmp_path, manifest, files), put_run(tmp_path, 2)])
    found = list(outcomes(store))
    assert [step.status for step in found[:3]] == ["failed", "failed", "ok"]
    assert [step.marks for step in found] == 3 * [["disturbed: " + said["steal"]]] + 3 * [[]]
    # Only those of a step that ended well are figures.
    marked = {(row.revision, row.step): row.disturbed for row in rows(store)}
    assert [place for place, disturbed in marked.items() if disturbed] == [
        ("17.1", "point-query_range=100")
    ]


def test_cells_stay_disturbed_until_every_step_has_an_undisturbed_run(
    store: Engine, tmp_path: Path
) -> None:
    (manifest, files), (second, more) = make_run(), make_run(repetition=2)
    said = {"steal": "the hypervisor took 9.0 % of the time of processor 1"}
    first, *others = manifest.steps
    marked = first.model_copy(update={"disturbed": said, "taken": {"steal": 0.09}})
    manifest = manifest.model_copy(update={"steps": (marked, *others)})
    second = second.model_copy(
        update={"steps": (second.steps[0].model_copy(update={"disturbed": said}), *others)}
    )
    key = manifest.cell_key
    ingest(store, [write_bundle(tmp_path, manifest, files)])
    assert stayed_disturbed(store, [key]) == {key}
    assert stayed_disturbed(store, ["another"]) == stayed_disturbed(store, []) == set()
    ingest(store, [write_bundle(tmp_path, second, more)])
    assert stayed_disturbed(store, [key]) == {key}
    ingest(store, [put_run(tmp_path, 1, 3)])
    assert stayed_disturbed(store, [key]) == set()
    ids = [manifest.run_id, second.run_id, make_run(repetition=3)[0].run_id]
    assert disturbances_of(store, ids) == {one: {"steal"} for one in ids[:2]}


def test_output_that_is_no_utf_8_is_read_all_the_same(store: Engine, tmp_path: Path) -> None:
    manifest, files = make_run()
    files["steps/03/stdout.txt"] = b"WARNING: \xff\xfe\n" + files["steps/03/stdout.txt"]
    report = ingest(store, [write_bundle(tmp_path, manifest, files)])
    assert report.refused == []
    assert {row.step for row in rows(store)} == {step.name for step in manifest.workload.steps}


def test_equal_values_of_a_step_that_failed_its_sla_are_another_result(
    store: Engine, tmp_path: Path
) -> None:
    values: dict[str, dict[str, float]] = {}
    for repetition, status in enumerate((StepStatus.OK, StepStatus.SLA_FAILED), start=1):
        manifest, _ = make_run(repetition=repetition, origin=Origin.IMPORTED)
        steps = tuple(each.model_copy(update={"status": status}) for each in manifest.steps)
        manifest = manifest.model_copy(update={"steps": steps})
        values = {step.name: {"qps": 100.0} for step in manifest.workload.steps}
        write_bundle(tmp_path, manifest, {"values.json": json.dumps(values).encode()})
    ingest(store, list_bundles(tmp_path))
    kept, failed = runs(store)
    assert [step.status for step in outcomes(store)] == 3 * ["ok"] + 3 * ["sla failed"]
    assert kept.digest != failed.digest


def test_a_run_without_samples_and_settings(store: Engine, tmp_path: Path) -> None:
    manifest, files = make_run()
    files = {name: data for name, data in files.items() if name.endswith("stdout.txt")}
    ingest(store, [write_bundle(tmp_path, manifest, files)])
    (run,) = runs(store)
    assert run.settings_id is None
    assert {row.metric for row in rows(store)} == {
        *("qps", "errors", "dbsize", "cached"),
        *(f"latency_{name}" for name in ("avg", "p50", "p95", "p99", "max")),
    }


def test_a_run_without_steps_is_a_run(store: Engine, tmp_path: Path) -> None:
    report = ingest(store, [put_run(tmp_path, steps=())])
    assert (report.taken, report.measurements, len(runs(store))) == (1, 0, 1)


@pytest.mark.parametrize("value", ["NaN", "Infinity", '"fast"', "null"])
def test_imported_values_are_numbers(store: Engine, tmp_path: Path, value: str) -> None:
    manifest, _ = make_run(origin=Origin.IMPORTED, line="elsewhere")
    values = {step.name: {"qps": 1.0, "errors": 2.0} for step in manifest.workload.steps}
    raw = json.dumps(values).replace("1.0", value, 1).encode()
    path = write_bundle(tmp_path, manifest, {"values.json": raw})
    report = ingest(store, [path, put_run(tmp_path, 2)])
    assert (report.taken, len(report.refused)) == (1, 1)
    assert [run.revision for run in runs(store)] == ["17.2"]


KILLED = """
import os, signal, sys
from pathlib import Path
from pipeline.storage.bundle import list_bundles
from pipeline.storage import ingest
from pipeline.storage.database import open_store
from pipeline.storage.write import Writer

url, folder, deadly = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
real, calls = Writer._write_measurements, []

def write(self, rows):
    calls.append(rows)
    real(self, rows)
    if len(calls) == deadly:
        os.kill(os.getpid(), signal.SIGKILL)

Writer._write_measurements = write
ingest.ingest(open_store(url), list_bundles(folder))
"""


@pytest.mark.parametrize("deadly", [1, 4, 6])
def test_killed_in_the_middle_it_goes_on(store_url: str, tmp_path: Path, deadly: int) -> None:
    folder = tmp_path / "bundles"
    put_night(folder)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, store_url, str(folder), str(deadly)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    store = open_store(store_url)
    kept = len(runs(store))
    assert kept == deadly - 1, "each bundle before it was committed"
    report = ingest(store, list_bundles(folder))
    assert (report.taken, report.known) == (6 - kept, kept)
    found = by_names(store)
    empty_store(store)
    ingest(store, list_bundles(folder))
    assert by_names(store) == found
    store.dispose()


def test_a_bundle_is_taken_whole_or_not_at_all(
    store: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that fails in the middle of the third bundle leaves the first two."""
    paths = put_night(tmp_path)
    real, calls = Writer._write_measurements, []

    def fail_at_the_third(writer: Writer, rows: Any) -> None:
        calls.append(rows)
        real(writer, rows)
        if len(calls) == 3:
            writer._connection.execute(text("SELECT 1 FROM there_is_no_such_table"))

    monkeypatch.setattr(Writer, "_write_measurements", fail_at_the_third)
    with pytest.raises(UserError, match="run `nightshift ingest` again") as error:
        ingest(store, paths)
    assert "\n" not in str(error.value)
    # What the database said, without the class of the error in the library's words.
    assert "there_is_no_such_table" in str(error.value)
    assert "Error)" not in str(error.value)
    assert len(runs(store)) == 2
    with store.connect() as connection:
        counts = {
            name: connection.execute(
                select(func.count()).select_from(metadata.tables[name])
            ).scalar()
            for name in ("run", "step_run")
        }
    assert counts == {"run": 2, "step_run": 6}
    assert ingest(store, paths).taken == 4


def test_an_ingest_that_breaks_off_keeps_every_bundle_before(store: Engine, tmp_path: Path) -> None:
    paths = put_night(tmp_path)
    left = iter(range(3))
    with pytest.raises(StopIteration):
        ingest(store, paths, lambda: (next(left), None)[1])
    # It is broken off after the fourth.
    assert len(runs(store)) == 4
    report = ingest(store, paths)
    assert (report.taken, report.known) == (2, 4)


def test_a_run_whose_steps_all_failed_has_no_measurements(store: Engine, tmp_path: Path) -> None:
    manifest, files = make_run()
    failed = {"status": StepStatus.FAILED, "note": "it crashed"}
    steps = tuple(record.model_copy(update=failed) for record in manifest.steps)
    path = write_bundle(tmp_path, manifest.model_copy(update={"steps": steps}), files)
    report = ingest(store, [path, put_run(tmp_path, 2)])
    assert (report.taken, report.refused) == (2, [])
    assert {row.revision for row in rows(store)} == {"17.2"}
    assert report.measurements == count_measurements(store) == len(list(rows(store)))


def test_a_copy_that_fails_is_answered_as_any_failure_of_the_store(
    store: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL's driver is asked directly there, and its errors are no other library's."""

    def fail(writer: Writer, rows: Any) -> None:
        raise psycopg.OperationalError("the server closed the connection\nunexpectedly")

    monkeypatch.setattr(Writer, "_write_measurements", fail)
    with pytest.raises(UserError, match="the server closed the connection") as error:
        ingest(store, [put_run(tmp_path)])
    assert "\n" not in str(error.value)
    assert runs(store) == []


def test_rebuilding_gives_the_same_store(store: Engine, tmp_path: Path) -> None:
    put_night(tmp_path)
    ingest(store, list_bundles(tmp_path))
    before = with_ids(store)
    assert before["measurement"]
    for _ in range(2):
        empty_store(store)
        assert not any(with_ids(store).values())
        ingest(store, list_bundles(tmp_path))
        assert with_ids(store) == before


def test_a_night_and_its_rebuilding_look_the_same(store: Engine, tmp_path: Path) -> None:
    """A night ingests in the order of measuring, a rebuild in that of the names."""
    night = put_night(tmp_path)
    assert night != list(list_bundles(tmp_path))
    for path in night:
        ingest(store, [path])
    found = by_names(store)
    assert [run.started_at for run in found["runs"]] == sorted(
        read_bundle(path).manifest.started_at for path in night
    )
    empty_store(store)
    ingest(store, list_bundles(tmp_path))
    assert by_names(store) == found


def test_queries_filter(store: Engine, tmp_path: Path) -> None:
    ingest(store, put_night(tmp_path))
    everything = list(rows(store))
    by_revision = {run.revision: run.cell_key for run in runs(store)}
    keys = [by_revision["17.9"], by_revision["17.11"]]
    chosen = list(rows(store, cells=keys, metrics=["qps", "dbsize"]))
    assert chosen == [
        row
        for row in everything
        if row.metric in ("qps", "dbsize") and row.revision in ("17.9", "17.11")
    ]
    assert len(chosen) == 2 * 2 * 2 * 3
    assert list(rows(store, cells=list(by_revision.values()))) == everything
    assert list(rows(store, cells=[])) == list(rows(store, metrics=[])) == []
    assert list(rows(store, line="postgres")) == []
    assert len(list(outcomes(store, cells=keys[:1]))) == 6
    assert runs(store, cells=["other"]) == []


def test_a_step_that_was_still_warming_is_marked(store: Engine, tmp_path: Path) -> None:
    manifest, files = make_run()
    level = [15000] * 15 + [20000] * 45
    seconds = "".join(
        f"nightshift interval t={second}.0 dt=1.0 events={events + 100 * (second % 3)}"
        " lat_pct_ms=0.06 errors=0 reconnects=0 threads=1\n"
        for second, events in enumerate(level, start=1)
    )
    name = "steps/03/stdout.txt"
    lines = files[name].decode().splitlines(keepends=True)
    others = [line for line in lines if not line.startswith("nightshift interval")]
    files[name] = (seconds + "".join(others)).encode()
    ingest(store, [write_bundle(tmp_path, manifest, files)])
    with store.connect() as connection:
        kept = connection.execute(text("SELECT place, marks FROM step_run ORDER BY place")).all()
    marks = {place: json.loads(said) if isinstance(said, str) else said for place, said in kept}
    assert marks[0] == marks[1] == []
    (mark,) = marks[2]
    assert mark.startswith("warming: throughput was 25 % below the later level until second 15 of")
    values = {row.metric: row.value for row in rows(store) if row.step == "point-query_range=100"}
    assert values["warming_s"] == 15.0


WRITING = """
import sys
from pipeline.storage.database import exclusive, open_store
from pipeline.storage.ingest import ingest
from pathlib import Path

store = open_store(sys.argv[1])
with store.connect() as connection, exclusive(connection):
    print("holds", flush=True)
    sys.stdin.readline()
ingest(store, sorted(Path(sys.argv[2]).glob("*.tar.zst")))
"""


def test_two_processes_write_at_once(store: Engine, store_url: str, tmp_path: Path) -> None:
    """The second waits for the first, and takes no bundle twice."""
    paths = put_night(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", WRITING, store_url, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "holds\n"
        assert runs(store) == [], "readers do not wait"
        releasing = threading.Timer(0.3, other.stdin.close)
        releasing.start()
        report = ingest(store, paths)
        releasing.join()
    assert other.returncode == 0
    assert report.refused == []
    assert report.taken + report.known == len(paths) == len(runs(store))


@pytest.mark.parametrize(
    ("field", "value"),
    [("repetition", str(2**70)), ("schema_version", "1e400"), ("schema_version", "-5")],
)
def test_a_number_beyond_all_bounds_refuses_its_bundle_alone(
    store: Engine, tmp_path: Path, field: str, value: str
) -> None:
    """Its checksums are right: somebody made it so."""
    path = put_run(tmp_path)
    bundle = read_bundle(path)
    head = bundle.manifest.model_dump_json(indent=1)
    head = re.sub(rf'"{field}": \d+', f'"{field}": {value}', head)
    packer = zstandard.ZstdCompressor(write_checksum=True)
    with path.open("wb") as raw, packer.stream_writer(raw) as packed:
        bundle_module._write_members(packed, {"manifest.json": head.encode(), **bundle.files})
    report = ingest(store, [path, put_run(tmp_path, 2)])
    assert (report.taken, len(report.refused)) == (1, 1)
    assert "\n" not in str(report.refused[0])


def test_a_plan_may_have_more_cells_than_a_statement_has_parameters(
    store: Engine, tmp_path: Path
) -> None:
    ingest(store, [put_run(tmp_path), put_run(tmp_path, 2)])
    key = make_run()[0].cell_key
    cells = [f"{number:064x}" for number in range(260_000)]
    assert len(runs(store, cells=[*cells, key])) == len(runs(store, cells=[key])) > 0
    assert runs(store, cells=cells) == runs(store, cells=[]) == []
