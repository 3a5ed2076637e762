"""The verb bisect along a git branch: ten commits, of which one is slow and one does not build."""

from __future__ import annotations

import pytest

from tests.flows.test_culprit import Slow, commits
from tests.simulated import Simulation, counted

BROKEN, CULPRIT, COMMITS = 4, 5, 10


@pytest.fixture
def branch(simulation: Simulation) -> Simulation:
    simulation.noise = 0.01
    simulation.slowness = slow = Slow(simulation, 1.3)
    simulation.configure()
    commits(simulation, COMMITS)
    slow.first = CULPRIT
    return simulation


def asked(simulation: Simulation, good: int = 0, bad: int = COMMITS - 1) -> tuple[str, ...]:
    ends = simulation.commits[good], simulation.commits[bad]
    return ("bisect", "--line", "line", "--good", ends[0][:10], "--bad", ends[1][:10])


def test_the_commit_is_named(branch: Simulation) -> None:
    got = branch.json(*asked(branch))
    parent, culprit = branch.commits[CULPRIT - 1 : CULPRIT + 1]
    assert (got["outcome"], got["culprit"], got["confirmed"]) == ("culprit", culprit, True)
    assert (got["parent"], got["between"]) == (parent, [])
    assert got["probability"] >= 0.99
    (found,) = got["found"]
    effects = {row["metric"]: row["effect"] for row in found["rows"]}
    assert effects["cpu_us/o"] == pytest.approx(0.3, abs=0.03)
    assert effects["qps"] == pytest.approx(1 / 1.3 - 1, abs=0.03)
    runs = branch.measured("bisect-")
    assert got["runs"] == len(runs) == len(branch.bundles("bisect-"))
    # The ends first, and then what halves: of ten commits no more than these.
    assert list(dict.fromkeys(run.revision for run in runs))[:2] == [
        branch.commits[0],
        branch.commits[-1],
    ]
    assert got["builds"] == len(counted(runs)) <= 6
    assert branch.bundles() == [], "what is measured on suspicion is no part of the series"
    # Asked again, all of it is known.
    assert branch.json(*asked(branch)) == got
    assert branch.measured("bisect-") == runs


def test_a_revision_that_does_not_build_stays_beside_the_culprit(branch: Simulation) -> None:
    branch.broken = {branch.commits[BROKEN]}
    got = branch.json(*asked(branch))
    parent, broken, culprit = branch.commits[BROKEN - 1 : CULPRIT + 1]
    assert (got["outcome"], got["culprit"], got["confirmed"]) == ("culprit", culprit, True)
    assert (got["parent"], got["between"]) == (parent, [broken])
    assert got["builds"] <= COMMITS
    assert broken not in counted(branch.measured("bisect-"))


def test_ends_that_are_alike_have_no_culprit(branch: Simulation) -> None:
    got = branch.json(*asked(branch, 0, CULPRIT - 1))
    assert (got["outcome"], got["culprit"], got["found"]) == ("no change", None, [])
    assert set(counted(branch.measured("bisect-"))) == {branch.commits[0], branch.commits[4]}


def test_a_search_that_is_killed_goes_on(branch: Simulation) -> None:
    """And ends where it would have ended, with the same runs."""
    kills, effect = 0, 5
    while not branch.kill(*asked(branch), "--format", "json", before=effect):
        kills += 1
        effect += 13
        assert kills < 20
    assert kills >= 3
    got = branch.json(*asked(branch))
    assert got["culprit"] == branch.commits[CULPRIT]
    assert got["runs"] == len(branch.bundles("bisect-"))
    begun = branch.measured("bisect-")
    assert len({(run.revision, run.attempt) for run in begun}) == got["runs"]
    assert len(begun) <= got["runs"] + kills


def test_a_budget_that_is_spent_leaves_a_range_and_more_time_the_commit(
    branch: Simulation,
) -> None:
    short = branch.json(*asked(branch), "--budget", "65s")
    assert (short["outcome"], short["confirmed"]) == ("range", False)
    places = (branch.place(short["parent"]), branch.place(short["culprit"]))
    assert places[0] < CULPRIT <= places[1]
    runs = branch.measured("bisect-")
    assert len(runs) <= 65 / branch.seconds + 1
    got = branch.json(*asked(branch))
    assert got["culprit"] == branch.commits[CULPRIT]
    assert branch.measured("bisect-")[: len(runs)] == runs
