"""The verb compare: what is refused, what passes the gate, and what goes on after a kill."""

from __future__ import annotations

import pytest

from tests.flows.test_culprit import Slow, commits
from tests.simulated import Simulation


@pytest.fixture
def two(simulation: Simulation) -> Simulation:
    simulation.noise = 0.01
    simulation.configure()
    commits(simulation, 2)
    return simulation


def side(simulation: Simulation, number: int) -> str:
    return f"sqlite:./repository#{simulation.commits[number]}@plain"


def test_a_slower_side_is_stopped_by_the_gate_and_measured_once(two: Simulation) -> None:
    two.slowness = slow = Slow(two, 1.3)
    slow.first = 1
    words = ("compare", side(two, 0), side(two, 1), "--gate", "--format", "json")
    stopped = two.run(*words, code=1)
    rows = {row["metric"]: row for row in stopped.json}
    assert rows.keys() == {"qps", "cpu_us/o"}
    assert {row["verdict"] for row in rows.values()} == {"worse"}
    low, high = rows["cpu_us/o"]["interval"]
    assert 1.0 < low < rows["cpu_us/o"]["ratio"] < high
    assert rows["cpu_us/o"]["ratio"] == pytest.approx(1.3, abs=0.05)
    runs = two.measured("compare-")
    assert len(runs) == 3 * max(row["blocks"] for row in rows.values())
    # What an experiment measured is no evidence of the nights.
    assert two.bundles() == []
    assert not (two.folder / "results/store.db").exists()
    # Asked again, what was measured is used.
    assert two.run(*words, code=1).out == stopped.out
    assert two.measured("compare-") == runs


def test_one_build_against_itself_passes_wherever_it_was_killed(two: Simulation) -> None:
    words = ("compare", side(two, 0), side(two, 0), "--smallest", "5%")
    kills, effect = 0, 3
    while not two.kill(*words, before=effect):
        kills += 1
        effect += 9
    assert kills >= 2
    bundles = two.bundles("compare-")
    assert len(bundles) <= len(two.measured("compare-")) <= len(bundles) + kills
    text = two.run(*words, "--gate", "--format", "markdown").out
    assert text.startswith("<!-- nightshift compare -->\n### No regression")
    assert f"`sqlite {two.commits[0]}#2 plain wal" in text
    assert "| point-query_range=100 | qps |" in text
    assert two.bundles("compare-") == bundles


def test_a_mistake_is_one_line(two: Simulation) -> None:
    same = side(two, 0)
    for words, said in (
        ((same, same, "--metric", "qbs"), "there is no metric 'qbs'"),
        ((same, same, "--budget", "5"), "--budget: '5' is not a duration"),
        ((same, same, "--smallest", "0%"), "must be above zero, not 0%"),
        ((same, f"{same}+wall"), "sqlite has no config 'wall'"),
        ((same, "sqlite:/nowhere"), "there is no folder /nowhere"),
        ((same, "rocksdb:9.11.2"), "does not run on sqlite and rocksdb"),
    ):
        refused = two.run("compare", *words, code=2).err.strip()
        assert said in refused
        assert "\n" not in refused
    assert two.measured("compare-") == []
