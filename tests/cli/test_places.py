"""The verbs that reach other places: collect by the configuration, pack to a bucket, backup."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.storage.database import open_store
from pipeline.use_cases.measuring import MeasuringContext
from tests.cli.conftest import Nightshift
from tests.cli.measured import write_run
from tests.storage.dumps import with_ids


@pytest.fixture
def bench(folder: Path, written: None) -> Path:
    """The folder of a bench, whose results are those of a night."""
    context = MeasuringContext(folder / "nightshift.toml")
    bench = folder / "bench"
    for cell, repetition in context.plan().remaining(()):
        path = write_run(context, cell, repetition)
        (bench / "results" / "bundles").mkdir(parents=True, exist_ok=True)
        path.rename(bench / "results" / "bundles" / path.name)
    text = (folder / "nightshift.toml").read_text()
    results = f'results = "{bench / "results"}"'
    (bench / "nightshift.toml").write_text(text.replace('results = "results"', results))
    return bench


def add(file: Path, text: str) -> None:
    file.write_text(file.read_text() + text)


def test_the_places_of_the_configuration_are_collected_and_one_that_fails_stops_none(
    nightshift: Nightshift, folder: Path, bench: Path
) -> None:
    places = ["nowhere", "ssh://user:password@host/x", str(bench / "results")]
    add(folder / "nightshift.toml", f"[collect]\nfrom = {places}\n")
    ran = nightshift("collect", "--format", "json")
    assert ran.code == 2
    assert ran.json["bundles"] == len(list((bench / "results" / "bundles").iterdir())) > 0
    assert ran.json["measurements"] > 0
    assert len(ran.json["refused"]) == 2
    said = [line for line in ran.err.splitlines() if line.startswith("nightshift: ")]
    assert [
        "nowhere" in said[0],
        "is not a valid place" in said[1],
        len(said),
    ] == [True, True, 2]

    shown = nightshift("collect", str(bench / "results"))
    assert (shown.code, shown.out[:20]) == (0, "0 bundles collected ")


def test_without_any_place_it_says_what_to_do(nightshift: Nightshift) -> None:
    for verb, setting in (("collect", "collect.from"), ("backup", "backup.to")):
        ran = nightshift(verb)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert setting in ran.err


def test_a_hub_that_is_lost_is_restored_and_rebuilt_as_it_was(
    nightshift: Nightshift, folder: Path, bench: Path
) -> None:
    assert nightshift("collect", str(bench / "results")).code == 0
    assert nightshift("rebuild").code == 0
    before = with_ids(open_store(f"sqlite:///{folder / 'results' / 'store.db'}"))
    ran = nightshift("backup", "kept", "--format", "json")
    assert (ran.code, ran.json["sent"] > 1) == (0, True)
    assert nightshift("backup", "kept").out.count(" 0 new") == 1

    refused = nightshift("restore", "kept")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "exists already" in refused.err
    shutil.rmtree(folder / "results")
    (folder / "nightshift.toml").rename(folder / "old.toml")
    assert nightshift("restore", "kept", "--at", "1999").code == 2
    assert nightshift("restore", "kept").code == 0
    assert (folder / "nightshift.toml").read_text() == (folder / "old.toml").read_text()
    assert nightshift("rebuild").code == 0
    assert with_ids(open_store(f"sqlite:///{folder / 'results' / 'store.db'}")) == before
