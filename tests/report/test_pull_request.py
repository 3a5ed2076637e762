"""The words that a pull request is given: four outcomes, each with its worst figure."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from pipeline.experiments.pull_request import PullRequestRuns, read_answer
from pipeline.notify.base.pull_request import WITHOUT_RESULT, PullRequestOutcome
from pipeline.report.pull_request import MessageContext, message_of, message_without_result
from tests.notify.answers import BASE, HEAD, levels, measured


def read(*figures: dict[str, Any], **changes: Any) -> PullRequestRuns:
    found = read_answer(json.dumps(measured(*figures, **changes)).encode()).measured
    assert found is not None
    return found


SCAN = levels("scan_range=100", "qps", change=0.001)
NONE: list[float | None] = [None, None]
FAILED = levels(blocks=2) | {"head": NONE}
BROKEN = levels(blocks=2) | {"base": NONE, "head": NONE, "control": NONE}


@pytest.mark.parametrize(
    ("figures", "outcome", "title"),
    [
        (
            [SCAN, levels()],
            PullRequestOutcome.PASSED,
            "No regression in 2 figures; none is slower",
        ),
        (
            [SCAN, levels(change=0.1)],
            PullRequestOutcome.REGRESSION,
            "Slower: point-query_range=100 has 10.0 % more CPU per operation (+6.6 to +13.4 %); "
            "1 of 2 figures worse",
        ),
        (
            [FAILED],
            PullRequestOutcome.REGRESSION,
            "Broken: point-query_range=100 fails on head, but not on base",
        ),
        (
            [levels(blocks=1, change=0.1)],
            PullRequestOutcome.UNDECIDED,
            "Undecided: 1 of 1 figure; worst: point-query_range=100, CPU per operation: "
            "any change is possible",
        ),
        (
            [BROKEN],
            PullRequestOutcome.UNDECIDED,
            "Undecided: 1 of 1 figure; worst: point-query_range=100, CPU per operation: "
            "without a figure",
        ),
        (
            [levels(change=0.1, control=0.1)],
            PullRequestOutcome.UNDECIDED,
            "Undecided: the machine was not steady during the comparison",
        ),
        (
            [levels(change=-0.2), SCAN],
            PullRequestOutcome.PASSED,
            "Faster: point-query_range=100 has 20.0 % less CPU per operation (-22.5 to -17.5 %)",
        ),
    ],
)
def test_the_title_has_the_outcome_and_the_worst_figure(
    figures: list[dict[str, Any]], outcome: PullRequestOutcome, title: str
) -> None:
    words = message_of(read(*figures))
    assert words.outcome is outcome
    assert words.title == title


def test_the_worst_rows_come_first_and_the_command_measures_them_again() -> None:
    worse = [levels(f"step{number}", change=number / 50) for number in range(2, 7)]
    words = message_of(
        read(SCAN, *worse, workload="short"), context=MessageContext(12, "ci/nightshift.toml")
    )
    rows = [line for line in words.body.splitlines() if line.startswith("| step")]
    assert [row.split()[1] for row in rows[1:]] == [f"step{number}" for number in (6, 5, 4, 3, 2)]
    fetch, command = (line.strip() for line in words.body.splitlines() if line.startswith("    "))
    assert fetch == "git fetch origin pull/12/head"
    assert shlex.split(command) == [
        *("nightshift", "compare"),
        *(f"sqlite:.#{BASE}@rel_o2nofp+wal", f"sqlite:.#{HEAD}@rel_o2nofp+wal"),
        *("--step", "step6", "--step", "step5", "--step", "step4"),
        *("--metric", "qps", "--metric", "cpu_us/o"),
        *("--workload", "short", "--smallest", "2%", "--budget", "60s"),
        *("--config", "ci/nightshift.toml"),
    ]


def test_the_usual_workload_has_no_name_in_a_configuration() -> None:
    body = message_of(read(workload="compare")).body
    assert "--workload" not in body
    assert "git fetch" not in body


def test_changes_are_annotated_both_ways() -> None:
    words = message_of(read(SCAN, levels(change=0.1), levels("scan", change=-0.1)))
    assert [(note.regression, note.title) for note in words.notes] == [
        (True, "point-query_range=100 cpu_us/o +10.0 %"),
        (False, "scan cpu_us/o -10.0 %"),
    ]
    (failed,) = message_of(read(FAILED)).notes
    assert failed.message == "point-query_range=100 fails on head but not on base."
    many = [levels(f"step{number}", change=0.1) for number in range(60)]
    assert len(message_of(read(*many)).notes) == 50


ON_A_BRANCH = MessageContext(pushed=HEAD)


@pytest.mark.parametrize(
    "figures",
    [
        [SCAN, levels(change=0.1)],
        [levels(blocks=1, change=0.1)],
        [levels(change=0.1, control=0.1)],
    ],
)
def test_about_a_pushed_branch_nobody_is_asked_to_comment(figures: list[dict[str, Any]]) -> None:
    words = message_of(read(*figures), context=ON_A_BRANCH)
    assert "**What to do:**" in words.body
    assert "comment" not in words.body and "pull/" not in words.body
    assert f"    git fetch origin {HEAD}\n" in words.body
    assert (words.outcome, words.title) == message_of(read(*figures))[:2]


@pytest.mark.parametrize("outcome", WITHOUT_RESULT)
def test_a_missing_result_of_a_branch_says_what_to_do_there(outcome: PullRequestOutcome) -> None:
    body = message_without_result(outcome, "the reason", ON_A_BRANCH).body
    assert "**What to do:**" in body
    assert "comment" not in body and "pull request" not in body


@pytest.mark.parametrize("outcome", WITHOUT_RESULT)
def test_a_missing_result_says_why_and_what_to_do(outcome: PullRequestOutcome) -> None:
    words = message_without_result(outcome, "sqlite3.c:1: error: `x` @octocat <img> ##[error] #1")
    assert words.outcome is outcome
    assert words.title.startswith(f"{outcome.value.capitalize()}: sqlite3.c:1: error: `x` @")
    assert "@octocat" not in words.title
    assert words.body.splitlines()[2].startswith("``sqlite3.c:1: error: `x` @octocat <img> # #[er")
    assert "is slower is unknown" in words.body
    assert "**What to do:**" in words.body


def test_counted_steps_show_the_functions_that_grew() -> None:
    def counted(step: str, base: float, head: float) -> dict[str, Any]:
        runs = {"base": [base], "head": [head], "control": [None]}
        return {"step": step, "metric": "instructions/o", **runs}

    def function(name: str, before: float, after: float, share: float) -> dict[str, Any]:
        sides = {"before": before, "after": after, "share": share}
        return {"step": "scan", "function": name, **sides}

    functions = [
        function("heap_getnextslot", 52.0, 104.0, 0.65),
        function("a|b` @octocat", 0.0, 28.0, 0.35),
    ]
    figures = [counted("scan", 800.0, 880.0), counted("update", 500.0, 500.0)]
    body = message_of(read(*figures, mode="count", functions=functions)).body
    lines = body.splitlines()
    at = lines.index("| instructions of scan | base | head | change of the step |")
    assert lines[at + 2 : at + 5] == [
        "| `heap_getnextslot` | 52 | 104 | +6.50% |",
        "| ``a\\|b` @octocat`` | 0 | 28 | +3.50% |",
        "",
    ]
    assert lines[at - 1] == ""
    assert "instructions of update" not in body
    without = message_of(read(*figures, mode="count")).body
    assert "instructions of" not in without
