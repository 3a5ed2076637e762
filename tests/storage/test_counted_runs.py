"""Counted runs in the store: what an operation costs, and nothing about time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import Engine

from pipeline.model import Mode, StepCounts
from pipeline.storage.bundle import COUNTS_MEMBER, DamagedBundleError, write_bundle
from pipeline.storage.ingest import ingest
from pipeline.storage.measurements import rows
from pipeline.storage.runs import run_heads

from .bundles import make_run, put_run

COUNTS = StepCounts(
    operations=(100.0, 200.0),
    instructions=64_830.5,
    waiting=77.0,
    background=12.0,
    misses={"l1_misses/o": 31.0, "ll_misses/o": 2.0},
)


def put_counted(folder: Path, counts: bytes | None) -> Path:
    manifest, files = make_run()
    workload = manifest.workload.model_copy(update={"mode": Mode.COUNT, "name": "counts"})
    members = {name: data for name, data in files.items() if not name.endswith("samples.jsonl")}
    if counts is not None:
        members |= {f"{record.folder}/{COUNTS_MEMBER}": counts for record in manifest.steps}
    return write_bundle(folder, manifest.model_copy(update={"workload": workload}), members)


def test_a_counted_step_has_its_counts_and_no_times(store: Engine, tmp_path: Path) -> None:
    path = put_counted(tmp_path, COUNTS.model_dump_json().encode())
    assert ingest(store, [path]).taken == 1
    found = list(rows(store))
    by_step: dict[str, dict[str, float]] = {}
    for row in found:
        by_step.setdefault(row.step, {})[row.metric] = row.value
    wanted = {"instructions/o": 64_830.5, "l1_misses/o": 31.0, "ll_misses/o": 2.0}
    assert len(by_step) == 3
    assert all(values == wanted for values in by_step.values())


def test_the_mode_of_a_run_is_known(store: Engine, tmp_path: Path) -> None:
    counted = put_counted(tmp_path / "counted", COUNTS.model_dump_json().encode())
    ingest(store, [put_run(tmp_path, minor=2), counted])
    assert {head.revision: head.mode for head in run_heads(store)} == {
        "17.1": Mode.COUNT,
        "17.2": Mode.TIME,
    }


@pytest.mark.parametrize(
    "counts",
    [None, b"", b"[]", json.dumps({"operations": [1, 2], "instructions": None}).encode()],
)
def test_a_counted_run_without_valid_counts_is_refused(
    store: Engine, tmp_path: Path, counts: bytes | None
) -> None:
    report = ingest(store, [put_counted(tmp_path, counts)])
    (error,) = report.refused
    assert isinstance(error, DamagedBundleError)
    assert "cannot be parsed" in str(error)
