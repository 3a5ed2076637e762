"""Any cell is measured again on request, and what was measured before is kept."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pipeline.model import Cell
from tests.simulated import Simulation


@pytest.fixture
def measured(simulation: Simulation) -> Simulation:
    """Three revisions, twice each, with the scan of the second one failed."""
    for _ in range(3):
        simulation.commit()

    def slowness(cell: Cell, step: str, settings: Mapping[str, str]) -> float | None:
        del settings
        failing = simulation.place(cell.revision.label) == 1 and step.startswith("scan")
        return None if failing else 1.0

    simulation.slowness = slowness
    simulation.configure(line="newest = 3", steps=["point-query", "scan"])
    simulation.run("nightly")
    simulation.slowness = lambda cell, step, settings: 1.0
    return simulation


def test_failed_steps_are_measured_again_and_kept(measured: Simulation) -> None:
    before = {
        name: (measured.folder / "results/bundles" / name).read_bytes()
        for name in measured.bundles()
    }
    shown = measured.run("remeasure", "--reason", "failed", "--dry-run").out
    assert "2 runs to measure" in shown and "2 runs failed" in shown
    assert measured.bundles() == sorted(before)
    foreseen = measured.json("remeasure", "--reason", "failed", "--dry-run")
    assert "2 runs measured" in measured.run("remeasure", "--reason", "failed").out
    assert [one.revision for one in measured.measured()[-2:]] == [measured.commits[1]] * 2
    new = set(measured.bundles()) - set(before)
    assert new == {f"{each['run']}.tar.zst" for each in foreseen["runs"]}
    assert {name.rpartition("-")[2] for name in new} == {"r3.tar.zst", "r4.tar.zst"}
    for name, content in before.items():
        assert (measured.folder / "results/bundles" / name).read_bytes() == content
    # The cell has what its plan wants, so nothing is asked for again.
    assert "0 runs to measure" in measured.run("remeasure", "--reason", "failed").out
    # A night has nothing to do, and sees the new figures.
    assert "nothing left to measure" in measured.run("nightly").out
    table = measured.json("table", "--absolute")
    cells = [row["values"] for group in table[0]["groups"] for row in group["rows"]]
    assert all(value for row in cells for value in row)


def test_a_revision_is_measured_once_more(measured: Simulation) -> None:
    revision = measured.commits[2]
    assert "1 run measured" in measured.run("remeasure", "--revision", revision).out
    assert "1 run measured" in measured.run("remeasure", "--revision", revision[:4] + "*").out
    assert [name.rpartition("-")[2] for name in measured.bundles() if revision in name] == [
        f"r{number}.tar.zst" for number in (1, 2, 3, 4)
    ]


def test_a_step_selects_the_cells_that_have_it(measured: Simulation) -> None:
    asked = ("remeasure", "--dry-run", "--reason", "failed", "--step")
    assert len(measured.json(*asked, "scan*")["runs"]) == 2
    assert measured.json(*asked, "point-query*")["runs"] == []


@pytest.mark.parametrize(
    ("asked", "reported"),
    [((), "name what to measure again"), (("--revision", "9.9"), "no measured cell")],
)
def test_a_request_for_nothing_is_a_line(
    measured: Simulation, asked: tuple[str, ...], reported: str
) -> None:
    ran = measured.run("remeasure", *asked, code=2)
    assert reported in ran.err and ran.err.count("\n") == 1
