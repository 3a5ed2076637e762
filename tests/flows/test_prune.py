"""Retention: what is old leaves, and nothing that is concluded changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from pipeline.storage.bundle import bundle_path, list_bundles, read_bundle
from pipeline.storage.condensed import MEMBER, is_condensed
from tests.flows.test_culprit import BRANCH, Slow, quiet_nights, steps_down, the_one
from tests.flows.test_killed_nights import concluded
from tests.simulated import Simulation

YEAR = 365 * 86_400.0


@pytest.fixture
def found(simulation: Simulation) -> dict[str, Any]:
    """A regression with its culprit, found a year ago; nothing was measured since."""
    simulation.noise = 0.01
    simulation.slowness = slow = Slow(simulation, 1.3)
    simulation.configure(line=BRANCH, repetitions=3)
    quiet_nights(simulation, 5)
    steps_down(simulation, slow)
    simulation.run("nightly")
    simulation.idle = YEAR
    return the_one(simulation)


def condensed(simulation: Simulation) -> set[str]:
    """Return the bundles without samples."""
    return {
        path.name
        for path in list_bundles(simulation.folder / "results/bundles")
        if is_condensed(read_bundle(path).files)
    }


def stored(simulation: Simulation) -> list[Any]:
    """Return what the store says of runs and steps, but for its own numbers."""
    engine = create_engine(f"sqlite:///{simulation.folder}/results/store.db")
    with engine.connect() as connection:
        rows = connection.execute(
            text(
                "SELECT run_id, bundle_sha256, digest, place, status, timeline, activity, marks, "
                "histogram FROM run JOIN step_run ON step_run.run = run.id ORDER BY run_id, place"
            )
        ).all()
    engine.dispose()
    return list(rows)


def of_revisions(simulation: Simulation, *revisions: str) -> set[str]:
    return {name for name in simulation.bundles() if any(each in name for each in revisions)}


def test_samples_leave_and_conclusions_stay(simulation: Simulation, found: dict[str, Any]) -> None:
    before, whole = concluded(simulation), stored(simulation)
    size = sum(path.stat().st_size for path in Path("results/bundles").iterdir())
    reported = simulation.json("prune", "--samples", "90", "--dry-run")
    assert (stored(simulation), condensed(simulation)) == (whole, set()), (
        "a dry run changes nothing"
    )
    kept = of_revisions(simulation, found["last_good"], found["first_bad"])
    assert len(kept) == 6
    assert {Path(each).name for each in reported["condense"]} == {*simulation.bundles()} - kept
    assert reported["delete"] == []

    done = simulation.json("prune", "--samples", "90")
    assert done["condense"] == reported["condense"]
    assert condensed(simulation) == {*simulation.bundles()} - kept
    now = sum(path.stat().st_size for path in Path("results/bundles").iterdir())
    assert size - now == done["bytes"] > 0
    assert concluded(simulation) == before
    pruned = stored(simulation)
    assert pruned != whole
    simulation.run("rebuild")
    assert stored(simulation) == pruned, "bundles are still all of the truth"
    assert concluded(simulation) == before
    assert simulation.json("nightly")["runs"] == 0
    assert the_one(simulation)["state"] == found["state"]
    assert simulation.json("prune", "--samples", "90")["condense"] == []


def test_bundles_leave_but_for_what_a_regression_rests_on(
    simulation: Simulation, found: dict[str, Any]
) -> None:
    kept = of_revisions(simulation, found["last_good"], found["first_bad"])
    old = {*simulation.bundles()} - kept
    experiments = set(simulation.bundles("c") + simulation.bundles("b"))
    assert experiments
    done = simulation.json("prune", "--bundles", "90")
    assert {Path(each).name for each in done["delete"]} == old
    assert set(simulation.bundles()) == kept
    assert set(simulation.bundles("c") + simulation.bundles("b")) == experiments
    before = concluded(simulation)
    simulation.run("rebuild")
    assert concluded(simulation) == before
    assert simulation.json("nightly")["runs"] == 0, "what left is not measured again"
    assert the_one(simulation)["state"] == found["state"]


def test_the_newest_nights_stay_whatever_their_age(
    simulation: Simulation, found: dict[str, Any]
) -> None:
    del found
    bundles = simulation.bundles()
    assert simulation.json("prune", "--bundles", "90", "--nights", "100")["delete"] == []
    assert simulation.bundles() == bundles
    ran = simulation.run("prune", code=2)
    assert "no age is given: set --samples DAYS, --bundles DAYS or both" in ran.err


def test_a_condensed_bundle_that_is_damaged_is_refused(
    simulation: Simulation, found: dict[str, Any]
) -> None:
    del found
    simulation.run("prune", "--samples", "90")
    path = bundle_path(Path("results/bundles"), sorted(condensed(simulation))[0][:-8])
    assert MEMBER in read_bundle(path).manifest.files
    path.write_bytes(path.read_bytes()[:-50])
    ran = simulation.run("rebuild", code=2)
    assert "is damaged or truncated" in ran.err
    assert not path.exists()


def test_a_bench_that_still_has_the_samples_brings_nothing(
    simulation: Simulation, found: dict[str, Any], tmp_path: Path
) -> None:
    del found
    simulation.run("pack", str(tmp_path / "packed"))
    simulation.run("prune", "--samples", "90")
    before = stored(simulation)
    ran = simulation.run("collect", str(tmp_path / "packed"))
    assert "with other content" not in ran.err
    assert stored(simulation) == before
