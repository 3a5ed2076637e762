"""Nights with a control: it is measured first and last, every night, and is on no line.

The command line runs in this process, so that the test says which night it is.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.model import Build, Manifest
from pipeline.storage.bundle import read_manifest
from pipeline.storage.controls import control_rows
from pipeline.storage.database import open_store
from pipeline.use_cases import run as run_stages
from tests.cli.conftest import Ran, nightshift_in
from tests.nights import make_night

CONTROL = """
[[control]]
name = "pinned"
target = "sqlite"
revision = "3.24.0"
workload = "short"
"""


NIGHT = datetime(2026, 3, 1, 23, 59, tzinfo=UTC)


def manifests(folder: Path) -> list[Manifest]:
    paths = (folder / "results/bundles").glob("*.tar.zst")
    return sorted(map(read_manifest, paths), key=lambda head: head.started_at)


def test_a_night_begins_and_ends_with_its_control(
    tmp_path: Path,
    sqlite_builds: Callable[..., Build],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for version in ("3.24.0", "3.46.0"):
        sqlite_builds(version, "rel_o2nofp")
    night = make_night(
        tmp_path / "night",
        revisions=["3.46.0"],
        steps=["point-query"],
        target="sqlite",
        config="wal",
        more=CONTROL,
    )
    monkeypatch.setattr(run_stages, "now", lambda: NIGHT)
    nightshift = nightshift_in(monkeypatch, capsys)

    def run(folder: Path, *verb: str) -> Ran:
        monkeypatch.chdir(folder)
        ran = nightshift(*verb)
        assert ran.code == 0, ran.err
        return ran

    def runs() -> int:
        found: int = run(night.folder, "nightly", "--format", "json").json["runs"]
        return found

    assert runs() == 3
    first, measured, last = manifests(night.folder)
    assert measured.control is None
    assert first.control is not None and first.control == last.control
    assert (first.control.name, first.control.machine) == ("pinned", first.machine.hostname)
    assert first.control.night == NIGHT.date()
    assert (first.repetition, last.repetition) == (1, 2)
    assert first.revision.label == "3.24.0"

    store = open_store(f"sqlite:///{night.folder}/results/store.db")
    rows = list(control_rows(store, ("qps",)))
    store.dispose()
    assert {(row.run_id, row.control) for row in rows} == {
        (first.run_id, "pinned"),
        (last.run_id, "pinned"),
    }
    (table,) = run(night.folder, "table", "--absolute", "--format", "json").json
    assert [column["name"].split(".")[0] for column in table["columns"]] == ["sl3460_rel_o2nofp"]
    # In the same night there is nothing to do, and killed between the two the other is measured.
    assert runs() == 0
    (night.folder / "results/bundles" / f"{last.run_id}.tar.zst").unlink()
    run(night.folder, "rebuild")
    again = run(night.folder, "run", "--format", "json").json
    assert again == [f"results/bundles/{last.run_id}.tar.zst"]
    # Another job of the same night, with a results folder of its own, measures none.
    job = tmp_path / "job"
    job.mkdir()
    shutil.copy(night.folder / "nightshift.toml", job)
    run(job, "discover")
    (cells,) = (
        each["cells"]
        for each in json.loads(run(job, "plan", "--format", "github-matrix").out)["include"]
    )
    alone = run(job, "run", "--cell", cells, "--format", "json").json
    assert alone == [f"results/bundles/{measured.run_id}.tar.zst"]
    # Two minutes later it is the next night.
    monkeypatch.setattr(run_stages, "now", lambda: NIGHT + timedelta(minutes=2))
    assert runs() == 2
    assert {each.control.night for each in manifests(night.folder) if each.control} == {
        NIGHT.date(),
        NIGHT.date() + timedelta(days=1),
    }
