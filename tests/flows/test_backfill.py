"""The verb backfill along a git branch of which a commit is slow and another does not build."""

from __future__ import annotations

import json

import pytest

from tests.flows.test_culprit import Slow, commits
from tests.simulated import Simulation, counted

COMMITS, BROKEN, CULPRIT = 17, 10, 9
REPETITIONS = 4
"""Of five positions with two each, a permutation test sees the largest step only half of the time;
with four always."""


@pytest.fixture
def branch(simulation: Simulation) -> Simulation:
    simulation.slowness = slow = Slow(simulation, 1.9)
    simulation.configure(line="newest = 1", repetitions=REPETITIONS)
    commits(simulation, COMMITS)
    slow.first = CULPRIT
    simulation.broken = {simulation.commits[BROKEN]}
    return simulation


def test_a_line_is_filled_where_most_is_learnt(branch: Simulation) -> None:
    hashes = branch.commits
    whole = ("--since", hashes[0], "--until", hashes[16])
    got = branch.json("backfill", *whole, "--count", "5")
    measured = [branch.place(each["revision"]) for each in got["measured"]]
    assert measured[:3] == [0, 16, 8]
    assert sorted(measured) == [0, 4, 8, 12, 16]
    assert counted(branch.measured()) == {hashes[at]: REPETITIONS for at in measured}
    assert got["left"] == 12
    (found,) = got["detected"]["regressions"]
    assert (found["last_good"], found["first_bad"]) == (hashes[8], hashes[12])

    foreseen = [each["revision"] for each in branch.json("backfill", "--dry-run")]
    assert foreseen[0] == hashes[BROKEN]
    assert set(foreseen) == set(hashes) - set(hashes[::4])

    got = branch.json("backfill", "--count", "3")
    (left_out,) = got["left_out"]
    assert left_out["revision"] == hashes[BROKEN]
    assert "unknown type name" in left_out["failure"]
    builds = json.loads((branch.folder / "results/builds.json").read_bytes())
    (broken,) = [each for each in builds if each["failure"]]
    assert broken["version"] == hashes[BROKEN]
    whys = {each["revision"]: each["why"] for each in got["measured"]}
    after = f"the cause of {found['fingerprint']} lies after {hashes[8]} and up to "
    assert whys[hashes[9]].startswith(after)
    (now,) = got["detected"]["regressions"]
    assert now["fingerprint"] == found["fingerprint"]
    assert (now["last_good"], now["first_bad"]) == (hashes[8], hashes[CULPRIT])
    assert [one["fingerprint"] for one in branch.regressions()] == [found["fingerprint"]]

    # All that is left, and nothing twice.
    rest = branch.json("backfill")
    assert (rest["left"], rest["left_out"]) == (0, []), "what did not build is known"
    there = [commit for at, commit in enumerate(hashes) if at != BROKEN]
    assert counted(branch.measured()) == dict.fromkeys(there, REPETITIONS)
    assert branch.json("backfill")["measured"] == []


def test_what_was_begun_when_it_was_killed_comes_first(branch: Simulation) -> None:
    whole = ("backfill", "--since", branch.commits[0], "--until", branch.commits[16])
    branch.run(*whole, "--count", "5")
    kept = branch.bundles()
    effect = 1
    while len(branch.bundles()) == len(kept):
        assert not branch.kill("backfill", before=effect)
        effect += 6
    (first,) = {run.revision for run in branch.measured()[5 * REPETITIONS :]}
    assert 0 < len(branch.bundles()) - len(kept) < REPETITIONS
    got = branch.json("backfill", "--count", "1")
    (next_one,) = got["measured"]
    assert next_one["revision"] == first
    assert next_one["why"] == "its measurement was begun but not finished"
    assert got["left_out"] == [], "what did not build is known"
    assert len([name for name in branch.bundles() if f"-{first}-" in name]) == REPETITIONS


def test_no_revision_is_begun_that_the_budget_has_no_time_for(branch: Simulation) -> None:
    whole = ("--since", branch.commits[0], "--until", branch.commits[16])
    revision = REPETITIONS * branch.seconds
    got = branch.json("backfill", *whole, "--budget", f"{2.5 * revision:.0f}s")
    assert [branch.place(each["revision"]) for each in got["measured"]] == [0, 16]
