"""A bundle that cannot be used is kept, with its reason, and hinders nobody."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pipeline.model import BUNDLE_SCHEMA
from pipeline.storage import bundle as bundles
from pipeline.storage import ingest
from pipeline.storage.bundle import BundleError, list_bundles
from pipeline.storage.quarantine import Quarantine
from tests.storage.bundles import put_run


def refused(path: Path) -> BundleError:
    with pytest.raises(BundleError) as error:
        ingest.check_bundle(path)
    return error.value


def note(results: Path, name: str) -> Any:
    return json.loads((results / "quarantine" / f"{name}.json").read_text())


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = put_run(tmp_path / "bundles")
    path.write_bytes(path.read_bytes()[:-9])
    return path


def test_a_damaged_bundle_is_moved_with_its_reason(tmp_path: Path, damaged: Path) -> None:
    content = damaged.read_bytes()
    line = Quarantine(tmp_path).take(refused(damaged))
    kept = tmp_path / "quarantine" / damaged.name
    assert kept.read_bytes() == content
    assert list(list_bundles(tmp_path / "bundles")) == []
    assert "\n" not in line and str(kept.parent) in line and "measured again" in line
    reported = note(tmp_path, damaged.name)
    assert "damaged or truncated" in reported["reason"]
    assert reported["bundle"] == f"bundles/{damaged.name}"
    assert Quarantine(tmp_path).held_back() == set()


def test_the_way_back_is_a_command(tmp_path: Path, damaged: Path) -> None:
    content = damaged.read_bytes()
    Quarantine(tmp_path).take(refused(damaged))
    command, then = note(tmp_path, damaged.name)["put_back"].strip("`").split("`, then `")
    assert then == "nightshift ingest"
    subprocess.run(["sh", "-c", command], check=True)
    assert damaged.read_bytes() == content


def test_a_second_one_of_the_same_name_is_kept_too(tmp_path: Path, damaged: Path) -> None:
    contents = []
    for number in range(3):
        damaged.write_bytes(b"%d" % number)
        Quarantine(tmp_path).take(refused(damaged))
        contents.append(b"%d" % number)
    kept = sorted((tmp_path / "quarantine").rglob(f"*{damaged.name}"))
    assert sorted(path.read_bytes() for path in kept) == contents
    assert {path.name for path in kept} == {damaged.name}, "put back, it has the name of its run"


def test_a_folder_is_moved_like_a_file(tmp_path: Path) -> None:
    path = tmp_path / "bundles" / "x.tar.zst"
    path.mkdir(parents=True)
    (path / "file").write_text("kept")
    Quarantine(tmp_path).take(refused(path))
    assert (tmp_path / "quarantine/x.tar.zst/file").read_text() == "kept"


def test_a_newer_bundle_returns_with_the_upgrade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put_run(tmp_path / "bundles", schema_version=BUNDLE_SCHEMA + 1)
    quarantine = Quarantine(tmp_path)
    assert "waits for an upgrade" in quarantine.take(refused(path))
    quarantine.release()
    assert not path.exists()
    assert quarantine.held_back() == {path.name.removesuffix(".tar.zst")}
    monkeypatch.setattr(bundles, "BUNDLE_SCHEMA", BUNDLE_SCHEMA + 1)
    quarantine.release()
    assert path.exists()
    assert quarantine.held_back() == set()
    assert list((tmp_path / "quarantine").iterdir()) == []


def test_a_newer_bundle_of_an_experiment_holds_no_run_of_the_nights_back(tmp_path: Path) -> None:
    path = put_run(tmp_path / "experiments/x/bundles", schema_version=BUNDLE_SCHEMA + 1)
    quarantine = Quarantine(tmp_path)
    quarantine.take(refused(path))
    assert quarantine.held_back() == set()


def test_what_cannot_be_moved_is_left_and_remembered(
    tmp_path: Path, damaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: damaged.lstat().st_uid + 1)
    quarantine = Quarantine(tmp_path)
    line = quarantine.take(refused(damaged))
    assert "belongs to another user" in line and "\n" not in line
    assert quarantine.left() == {damaged}
    assert quarantine.held_back() == {damaged.name.removesuffix(".tar.zst")}
    assert str(damaged) in note(tmp_path, damaged.name)["put_back"]
    # Its owner repairs it.
    put_run(tmp_path / "other").rename(damaged)
    assert quarantine.left() == quarantine.held_back() == set()
    quarantine.release()
    assert list((tmp_path / "quarantine").iterdir()) == []


def test_a_quarantine_that_takes_nothing_stops_nobody(tmp_path: Path, damaged: Path) -> None:
    (tmp_path / "quarantine").write_text("a file")
    line = Quarantine(tmp_path).take(refused(damaged))
    assert "\n" not in line and str(damaged) in line
    assert damaged.exists()
    Quarantine(tmp_path).release()
    assert Quarantine(tmp_path).left() == set()


def test_what_another_process_took_is_no_matter(tmp_path: Path, damaged: Path) -> None:
    error = refused(damaged)
    damaged.unlink()
    assert Quarantine(tmp_path).take(error) == str(error)
    assert not (tmp_path / "quarantine" / f"{damaged.name}.json").exists()


def test_notes_that_cannot_be_read_are_skipped(tmp_path: Path, damaged: Path) -> None:
    quarantine = Quarantine(tmp_path)
    quarantine.take(refused(damaged))
    (tmp_path / "quarantine" / f"{damaged.name}.json").write_bytes(b"\xff")
    (tmp_path / "quarantine" / "x.tar.zst.json").mkdir()
    quarantine.release()
    assert quarantine.held_back() == quarantine.left() == set()
