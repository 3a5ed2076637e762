from __future__ import annotations

from pathlib import Path

from pipeline.ledger.machine_time import spent_otherwise
from pipeline.storage.bundle import BUNDLES, list_bundles
from pipeline.storage.database import open_store
from pipeline.storage.ingest import ingest
from pipeline.storage.runs import measured
from pipeline.transfer.results import pack
from tests.real.transfer.anything import collect_all
from tests.storage.bundles import put_run


def test_attempts_travel_with_the_run_and_are_no_run_there(tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    attempt = put_run(there / BUNDLES, attempt=1)
    run = put_run(there / BUNDLES)
    assert pack(there, tmp_path / "packed") == 2
    found = collect_all(tmp_path / "packed", here)
    assert sorted(path.name for path in found.bundles) == sorted([attempt.name, run.name])
    assert (here / BUNDLES / attempt.name).read_bytes() == attempt.read_bytes()
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    assert ingest(store, list_bundles(here / BUNDLES)).taken == 1
    assert len(measured(store)) == 1
    again = collect_all(tmp_path / "packed", here)
    assert (again.bundles, again.known, again.measured_twice) == ([], 2, [])


def test_an_attempt_alone_leaves_its_run_to_be_made(tmp_path: Path) -> None:
    """A machine was stopped before it had measured again."""
    put_run(tmp_path / BUNDLES, attempt=1)
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    assert ingest(store, list_bundles(tmp_path / BUNDLES)).taken == 0
    assert measured(store) == set()


def test_attempts_of_an_experiment_cost_what_they_took(tmp_path: Path) -> None:
    folder = tmp_path / "experiments" / "compare-x" / BUNDLES
    put_run(folder)
    assert spent_otherwise(tmp_path, ()) == 1.0
    put_run(folder, attempt=1)
    assert spent_otherwise(tmp_path, ()) == 2.0
