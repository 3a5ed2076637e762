"""Nights with a control: it is measured first and last, every night, and is on no line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from pipeline.bundle import read_manifest
from pipeline.model import Build, Manifest
from pipeline.store.controls import control_rows
from pipeline.store.database import open_store
from tests.nights import Night, make_night

CONTROL = """
[[control]]
name = "pinned"
target = "sqlite"
revision = "3.24.0"
workload = "short"
"""


def manifests(night: Night) -> list[Manifest]:
    paths = (night.folder / "results/bundles").glob("*.tar.zst")
    return sorted(map(read_manifest, paths), key=lambda head: head.started_at)


def test_a_night_begins_and_ends_with_its_control(
    tmp_path: Path, sqlite_builds: Callable[[str], Build]
) -> None:
    for version in ("3.24.0", "3.46.0"):
        sqlite_builds(version)
    night = make_night(
        tmp_path / "night",
        revisions=["3.46.0"],
        steps=["point-query"],
        target="sqlite",
        config="wal",
        more=CONTROL,
    )
    assert night.json("nightly")["runs"] == 3
    first, run, last = manifests(night)
    assert run.control is None
    assert first.control is not None and first.control == last.control
    assert (first.control.name, first.control.machine) == ("pinned", first.machine.hostname)
    assert first.started_at.date() - first.control.night <= timedelta(days=1)
    assert (first.repetition, last.repetition) == (1, 2)
    assert first.revision.label == "3.24.0"

    store = open_store(f"sqlite:///{night.folder}/results/store.db")
    rows = list(control_rows(store, ("qps",)))
    store.dispose()
    assert {(row.run_id, row.control) for row in rows} == {
        (first.run_id, "pinned"),
        (last.run_id, "pinned"),
    }
    (table,) = night.tables()
    assert [column["name"].split(".")[0] for column in table["columns"]] == ["sl3460_rel_o2nofp"]
    # Within the same day there is nothing to do, and killed between the two the other is measured.
    again = night.json("nightly")["runs"]
    assert again in ((0,) if first.control.night == last.ended_at.date() else (0, 2))
    (night.folder / "results/bundles" / f"{last.run_id}.tar.zst").unlink()
    night.run("rebuild")
    if first.control.night == last.ended_at.date():
        assert night.json("run") == [f"results/bundles/{last.run_id}.tar.zst"]
        # Another job of the same night, with a results folder of its own, measures none.
        job = Night(tmp_path / "job")
        job.folder.mkdir()
        shutil.copy(night.folder / "nightshift.toml", job.folder)
        job.run("discover")
        (cells,) = (
            each["cells"]
            for each in json.loads(job.run("plan", "--format", "github-matrix").stdout)["include"]
        )
        assert job.json("run", "--cell", cells) == [f"results/bundles/{run.run_id}.tar.zst"]
