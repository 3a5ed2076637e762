"""Pull requests are measured without a token, and published to GitHub by a trusted workflow."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pipeline.model import Cell
from tests.pull_requests import Hub, serving_hub
from tests.repositories import git
from tests.simulated import CLASS, Simulation

BASE, SLOW, HARMLESS, NO_BUILD = 0, 1, 2, 3
"""The commits; those after the first are the pull requests of the same numbers."""

SMALLEST = ("--smallest", "5%")


@pytest.fixture
def pulls(simulation: Simulation) -> Simulation:
    """A base, and a pull request that makes point queries a tenth slower, one that does nothing."""
    simulation.configure(steps=("point-query", "scan"))
    for _ in range(4):
        simulation.commit()
    slow, broken = simulation.commits[SLOW], simulation.commits[NO_BUILD]

    def slowness(cell: Cell, step: str, settings: Mapping[str, str]) -> float:
        return 1.1 if cell.revision.version == slow and step.startswith("point-query") else 1.0

    simulation.slowness = slowness
    simulation.broken = {broken}
    return simulation


@pytest.fixture
def hub(pulls: Simulation, tmp_path: Path) -> Iterator[Hub]:
    heads = {number: full(pulls, number) for number in (SLOW, HARMLESS, NO_BUILD)}
    with serving_hub(tmp_path / "hub", heads, pulls.run, CLASS) as served:
        yield served


def full(simulation: Simulation, number: int) -> str:
    """Return the whole hash of a commit."""
    return git(simulation.folder / "repository", "rev-parse", simulation.commits[number])


def words(simulation: Simulation, number: int, *asked: str) -> tuple[str, ...]:
    sides = (f"sqlite:./repository#{full(simulation, at)}@plain" for at in (BASE, number))
    return ("pull-request", "measure", *sides, "--out", f"answer-{number}", *SMALLEST, *asked)


def measure(simulation: Simulation, number: int, *asked: str) -> Path:
    simulation.run(*words(simulation, number, *asked))
    return simulation.folder / f"answer-{number}"


def test_a_tenth_slower_fails_with_one_comment(pulls: Simulation, hub: Hub) -> None:
    answer = measure(pulls, SLOW)
    assert {path.name for path in answer.iterdir()} == {"answer.json", "SHA256SUMS", "bundles"}
    listed = subprocess.run(
        ["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=answer, check=False
    )
    assert listed.returncode == 0
    check = hub.publish(SLOW, full(pulls, SLOW), answer, *SMALLEST)
    assert (check.name, check.sha) == (f"nightshift / sqlite on {CLASS}", full(pulls, SLOW))
    assert check.conclusion == "failure"
    assert check.title is not None
    assert check.title.startswith("Slower: point-query_range=100 has ")
    (comment,) = hub.repository.all_comments()
    assert (comment.number, comment.user) == (SLOW, "github-actions[bot]")
    rows = [line for line in comment.body.splitlines() if line.startswith("| ")]
    worse = [row for row in rows if "**worse**" in row]
    assert len(worse) == 2
    assert all(row.startswith("| point-query_range=100 |") for row in worse)
    assert f"git fetch origin pull/{SLOW}/head" in comment.body
    # Told again, it is the same comment; measured again, the same runs.
    assert hub.publish(SLOW, full(pulls, SLOW), answer, *SMALLEST).conclusion == "failure"
    assert len(hub.repository.all_comments()) == 1
    runs = pulls.measured("compare-")
    pulls.run(*words(pulls, SLOW, "--gate"), code=1)
    assert pulls.measured("compare-") == runs


def test_a_counted_pull_request_names_the_functions_that_grew(pulls: Simulation, hub: Hub) -> None:
    slow = pulls.commits[SLOW]
    pulls.costs = lambda cell, _: {
        "parse": 4_000.0,
        "execute": 16_000.0 + 2_000.0 * (cell.revision.label == slow),
    }
    answer = measure(pulls, SLOW, "--mode", "count")
    check = hub.publish(SLOW, full(pulls, SLOW), answer, *SMALLEST)
    (comment,) = hub.repository.all_comments()
    for text in (comment.body, check.summary or ""):
        assert (
            "| instructions of point-query_range=100 | base | head | change of the step |" in text
        )
        assert "| `execute` | 16000 | 18000 | +10.00% |" in text
        assert "parse" not in text


def test_what_changes_nothing_passes_without_a_word(pulls: Simulation, hub: Hub) -> None:
    answer = measure(pulls, HARMLESS, "--no-bundles")
    assert {path.name for path in answer.iterdir()} == {"answer.json", "SHA256SUMS"}
    check = hub.publish(HARMLESS, full(pulls, HARMLESS), answer, *SMALLEST)
    assert check.conclusion == "success", check.summary
    assert check.title is not None and check.title.startswith("No regression in 4 figures; ")
    assert hub.repository.all_comments() == []
    pulls.run(*words(pulls, HARMLESS, "--gate"))


def test_a_budget_that_shows_nothing_is_undecided(pulls: Simulation, hub: Hub) -> None:
    answer = measure(pulls, SLOW, "--budget", "1ms")
    assert len(pulls.measured("compare-")) == 3, "no time at all is time for one block"
    check = hub.publish(SLOW, full(pulls, SLOW), answer, *SMALLEST)
    assert check.conclusion == "neutral"
    assert check.title is not None and check.title.startswith("Undecided: 4 of 4 figures; ")
    assert check.summary is not None and "with a larger `budget` in the workflow" in check.summary
    assert hub.repository.all_comments() == []


def test_what_does_not_build_could_not_run(
    pulls: Simulation, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = measure(pulls, NO_BUILD)
    asked = words(pulls, NO_BUILD, "--gate")
    pulls.run(*asked, code=2)
    check = hub.publish(NO_BUILD, full(pulls, NO_BUILD), answer, *SMALLEST)
    assert check.conclusion == "action_required"
    assert check.title is not None and check.title.startswith("Could not build: ")
    reason = (check.summary or "").splitlines()[2]
    assert reason.startswith("`") and reason.endswith("`")
    assert "unknown type name" in reason
    assert hub.repository.all_comments() == []
    # With a token beside it, the code of strangers is not even built.
    monkeypatch.setenv("GITHUB_TOKEN", "ghs_any")
    assert (
        "could not run: the environment variable GITHUB_TOKEN is set"
        in pulls.run(*asked, code=2).out
    )


def test_a_measurement_that_is_killed_has_left_that_it_was_begun(
    pulls: Simulation, hub: Hub
) -> None:
    """Wherever it is killed; begun again, it goes on with the runs that are there."""
    answer = pulls.folder / f"answer-{SLOW}"
    kills, effect, kept = 0, 7, 0
    while not pulls.kill(*words(pulls, SLOW), before=effect):
        kills += 1
        effect += 12
        assert (answer / "SHA256SUMS").exists()
        check = hub.publish(SLOW, full(pulls, SLOW), answer, *SMALLEST)
        assert check.conclusion == "neutral"
        said = "the measurement was interrupted before it had an answer"
        assert said in (check.summary or "")
        now = len(pulls.bundles("compare-"))
        assert now >= kept
        kept = now
    assert kills >= 2
    bundles = pulls.bundles("compare-")
    assert len(bundles) <= len(pulls.measured("compare-")) <= len(bundles) + kills
    check = hub.publish(SLOW, full(pulls, SLOW), answer, *SMALLEST)
    assert check.conclusion == "failure"
