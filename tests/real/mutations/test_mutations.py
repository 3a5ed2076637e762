"""A few thousand mutations by default; NIGHTSHIFT_MUTATIONS and NIGHTSHIFT_SEED choose others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.storage.bundle import list_bundles
from tests.real.mutations.corpus import record
from tests.real.mutations.mutator import Mutator
from tests.real.mutations.run import mutate, recorded
from tests.simulated import Simulation, simulate

COUNT = int(os.environ.get("NIGHTSHIFT_MUTATIONS", "4000"))
SEED = int(os.environ.get("NIGHTSHIFT_SEED", "1"))


@pytest.fixture
def simulation(server_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """Nights that found, confirmed and bisected a regression."""
    simulation = simulate(server_folder, monkeypatch)
    record(simulation)
    return simulation


def test_every_mutation_is_a_line_or_taken(simulation: Simulation) -> None:
    seen, failures = mutate(recorded(simulation.folder), COUNT, SEED)
    assert not failures, (
        f"{len(failures)} of {COUNT}; seed {failures[0].seed}:\n{failures[0].trace}"
    )
    assert sum(seen.values()) == COUNT
    for kind in ("bundle", "journal", "configuration"):
        took, not_took = (
            f"{kind} taken",
            f"{kind} {'quarantined' if kind == 'bundle' else 'refused'}",
        )
        assert min(seen[took], seen[not_took]) > COUNT // 100, seen


def test_verbs_go_on_over_mutated_bundles(simulation: Simulation) -> None:
    paths = list(list_bundles(simulation.folder / "results/bundles"))
    whole = {path: path.read_bytes() for path in paths}
    for seed in range(SEED, SEED + max(3, COUNT // 1000)):
        mutator = Mutator(seed)
        for path, data in whole.items():
            path.write_bytes(mutator.bundle(data) if mutator.chance(3) == 0 else data)
        for verb in ("rebuild", "detect", "table", "report", "site", "nights", "nightly", "ingest"):
            ran = simulation.run(verb, code=2) if verb == "rebuild" else simulation.run(verb)
            assert "Traceback" not in ran.err
