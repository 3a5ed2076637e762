"""Counted runs in the store: what an operation costs, and nothing about time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import Engine

from pipeline.model import CallCost, FunctionCost, Mode, StepCounts, StepStatus
from pipeline.storage.bundle import COUNTS_MEMBER, DamagedBundleError, read_bundle, write_bundle
from pipeline.storage.condensed import condense
from pipeline.storage.functions import FunctionRange, function_costs, function_ranges
from pipeline.storage.ingest import check_bundle, counts_of, ingest
from pipeline.storage.measurements import rows
from pipeline.storage.runs import run_heads

from .bundles import make_run, put_run

COUNTS = StepCounts(
    operations=(100.0, 200.0),
    instructions=64_830.5,
    waiting=77.0,
    background=12.0,
    misses={"l1_misses/o": 31.0, "ll_misses/o": 2.0},
    functions=tuple(
        FunctionCost(function=name, binary="postgres", self_cost=own, inclusive_cost=inclusive)
        for name, own, inclusive in (
            ("heapgettup", 60_000.0, 62_000.0),
            ("ExecScan", 2_000.0, 64_000.0),
            ("at_the_bound", 64.8305, 64.8305),
            ("below_it", 64.83, 64.83),
            ("main", 1.0, 64_830.5),
        )
    ),
    calls=(CallCost(4, 1, 64_000.0), CallCost(1, 0, 62_000.0)),
)


def put_counted(folder: Path, counts: bytes | None, repetition: int = 1) -> Path:
    manifest, files = make_run(repetition=repetition)
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


KEPT = {"heapgettup": (60_000.0, 62_000.0), "ExecScan": (2_000.0, 64_000.0)}


def test_the_store_keeps_functions_with_a_thousandth_of_the_instructions(
    store: Engine, tmp_path: Path
) -> None:
    path = put_counted(tmp_path, COUNTS.model_dump_json().encode())
    ingest(store, [path])
    manifest = read_bundle(path).manifest
    ranges = function_ranges(store, [manifest.cell_key])
    assert {each.step for each in ranges} == {record.step.name for record in manifest.steps}
    names = {each.function: each.name for each in ranges}
    assert sorted(names.values()) == ["ExecScan", "at_the_bound", "heapgettup"]
    assert {each.binary for each in ranges} == {"postgres"}
    assert {each.runs for each in ranges} == {1}
    found = function_costs(store, [manifest.cell_key], list(names))
    assert len(found) == len(ranges)
    for each in found:
        if names[each.function] in KEPT:
            assert (each.self_cost, each.inclusive_cost) == KEPT[names[each.function]]
    assert function_ranges(store, ["another cell"]) == []


def test_ranges_are_over_the_runs_of_a_cell(store: Engine, tmp_path: Path) -> None:
    for number, factor in enumerate((1.0, 1.5)):
        grown = COUNTS.functions[0].model_copy(update={"self_cost": 60_000.0 * factor})
        counts = COUNTS.model_copy(update={"functions": (grown,)}).model_dump_json().encode()
        ingest(store, [put_counted(tmp_path / str(number), counts, repetition=1 + number)])
    cell = read_bundle(next((tmp_path / "0").iterdir())).manifest.cell_key
    (first, *_) = function_ranges(store, [cell])
    assert first._replace(step="", function=0) == FunctionRange(
        "", 0, "heapgettup", "postgres", 60_000.0, 90_000.0, 2
    )


def test_a_condensed_bundle_keeps_counts_functions_and_calls(tmp_path: Path) -> None:
    path = put_counted(tmp_path, COUNTS.model_dump_json().encode())
    bundle, _, steps = check_bundle(path)
    assert [each.function for each in steps[0].functions] == [
        "heapgettup",
        "ExecScan",
        "at_the_bound",
    ]
    condense(bundle, steps, path)
    _, _, again = check_bundle(path)
    assert [step.functions for step in again] == [step.functions for step in steps]
    folder = bundle.manifest.steps[0].folder
    kept = StepCounts.model_validate_json(read_bundle(path).files[f"{folder}/{COUNTS_MEMBER}"])
    assert kept == COUNTS


def test_the_costs_of_a_bundle_are_those_of_its_good_steps(tmp_path: Path) -> None:
    path = put_counted(tmp_path, COUNTS.model_dump_json().encode())
    manifest, bundle = make_run()[0], read_bundle(path)
    first, *others = bundle.manifest.steps
    failed = first.model_copy(update={"status": StepStatus.FAILED})
    steps = {"steps": (failed, *others)}
    members = {name: data for name, data in bundle.files.items() if not name.startswith("man")}
    folder = first.folder
    members = {name: data for name, data in members.items() if not name.startswith(folder)}
    changed = write_bundle(tmp_path / "failed", bundle.manifest.model_copy(update=steps), members)
    assert list(counts_of(changed)) == [step.step.name for step in manifest.steps[1:]]
    with pytest.raises(DamagedBundleError, match="cannot be parsed"):
        counts_of(put_counted(tmp_path / "damaged", b"{}"))
