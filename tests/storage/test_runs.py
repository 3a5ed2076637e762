"""Queries for some of the runs of a store."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from sqlalchemy import Engine

from pipeline.model import StepStatus
from pipeline.storage.bundle import read_manifest, write_bundle
from pipeline.storage.ingest import ingest
from pipeline.storage.runs import measured_time
from pipeline.storage.steps import count_failed
from tests.storage.bundles import make_run, put_run


def test_the_runs_of_a_night_are_found_by_their_ids(store: Engine, tmp_path: Path) -> None:
    paths = [put_run(tmp_path, 9, repetition) for repetition in (1, 2)]
    manifest, files = make_run(9, 3)
    ended = (StepStatus.FAILED, StepStatus.SLA_FAILED, StepStatus.OK)
    steps = tuple(
        step.model_copy(update={"status": status})
        for step, status in zip(manifest.steps, ended, strict=True)
    )
    paths.append(write_bundle(tmp_path, manifest.model_copy(update={"steps": steps}), files))
    assert ingest(store, paths).taken == 3
    _, second, third = (read_manifest(path).run_id for path in paths)
    assert count_failed(store, [second, third]) == 1
    assert count_failed(store, [second]) == count_failed(store, []) == 0
    assert measured_time(store, [second, third]) == timedelta(minutes=2)
    assert measured_time(store) == timedelta(minutes=3)
    assert measured_time(store, []) == timedelta()
