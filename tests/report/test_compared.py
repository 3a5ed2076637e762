"""A comparison in words: what a terminal, a pull request and a script are given."""

from __future__ import annotations

import math

import pytest

from pipeline.experiments.interleaved import FigureVerdict
from pipeline.report.compared import MOST_SAME, as_markdown, as_rows, as_text, verdict_line
from tests.experiments.test_compare import comparison, row

BLIND = FigureVerdict(
    step="scan",
    metric="qps",
    verdict="undecided",
    effect=-0.01,
    interval=(-1.0, math.inf),
    smallest_visible=math.inf,
    blocks=1,
)


@pytest.mark.parametrize(
    ("rows", "moved", "said"),
    [
        ([row("same", 0.001)], (), "no regression"),
        (
            [row("same", 0.001), row("better", 0.2)],
            (),
            "no regression, faster: scan has 20.0 % more throughput (+19.0 to +21.0 %)",
        ),
        ([row("undecided", -0.01)], (), "no regression found, 1 undecided"),
        (
            [row("worse", -0.05), row("worse", -0.1, "a"), row("undecided", 0.0)],
            (),
            "slower: a has 10.0 % less throughput (-11.0 to -9.0 %); 2 of 3 figures worse, "
            "1 undecided",
        ),
        (
            [row("failed", 0.0), row("better", 0.2)],
            (),
            "broken: scan fails on head, but not on base, 1 better",
        ),
        (
            [row("worse", -0.05)],
            ("x",),
            "undecided: the machine was not steady during the comparison",
        ),
    ],
)
def test_the_verdict_is_one_sentence(
    rows: list[FigureVerdict], moved: tuple[str, ...], said: str
) -> None:
    assert verdict_line(comparison(*rows, moved=moved)) == said


def test_that_all_was_measured_anew_is_said() -> None:
    answer = comparison(row("same", 0.001))
    moved = ("scan qps: -5.0% between two copies of base",)
    reported = answer.answer.model_copy(update={"moved_before": moved})
    text = as_text(answer.model_copy(update={"answer": reported}))
    assert (
        text.splitlines()[-1]
        == f"the machine was not steady: {moved[0]}; everything was measured again."
    )


def test_scripts_get_ratios() -> None:
    (first, second) = as_rows(comparison(row("same", 0.0, "a"), row("worse", -0.05)))
    assert first == {
        "step": "scan",
        "metric": "qps",
        "ratio": 0.95,
        "interval": [pytest.approx(0.94), pytest.approx(0.96)],
        "verdict": "worse",
        "smallest_visible": 0.01,
        "blocks": 5,
        "note": "",
    }
    assert second["step"] == "a"


def test_a_pull_request_reads_the_verdict_first_and_the_worst_row_first() -> None:
    text = as_markdown(
        comparison(row("same", 0.0, "a|b"), row("worse", -0.05), row("undecided", -0.01, "c"))
    )
    lines = text.splitlines()
    assert lines[0] == "<!-- nightshift compare -->"
    assert lines[1].startswith(
        "### Slower: scan has 5.0 % less throughput (-6.0 to -4.0 %); 1 of 3"
    )
    table = [line for line in lines if line.startswith("|")]
    assert table[2] == "| scan | qps | 0.950 | 0.940 to 0.960 | **worse** |  | 5 |"
    assert table[4].startswith("| a\\|b | qps |")
    assert table[3].endswith("| undecided | 1.0% | 5 |")
    assert table[4].endswith("| same |  | 5 |")
    assert ("a longer --budget detects smaller ones") in text
    assert "Ratio is head / base; more qps is better. 5 blocks" in text
    assert "smallest change of interest 2.0%" in text
    assert "`postgres 17.1 official x10a_c2r8` against `postgres 17.0 official" in text


def test_a_pull_request_is_not_flooded_with_what_did_not_change() -> None:
    same = [row("same", 0.0, f"step{number}") for number in range(MOST_SAME + 1)]
    text = as_markdown(comparison(*same, row("worse", -0.05)))
    shown, folded = text.split("<details>")
    assert "| scan | qps |" in shown
    assert "step0" not in shown
    assert folded.startswith(f"\n<summary>{MOST_SAME + 1} figures without a change</summary>\n\n| ")
    assert folded.count("| same |") == MOST_SAME + 1
    assert "<details>" not in as_markdown(comparison(*same[1:], row("worse", -0.05)))


def test_what_is_better_is_said_of_each_metric() -> None:
    cost = row("worse", 0.2).model_copy(update={"metric": "cpu_us/o"})
    said = "more qps and less cpu_us/o is better"
    assert said in as_text(comparison(row("same", 0.0), cost))
    assert "; less cpu_us/o is better." in as_text(comparison(cost))


def test_what_could_not_be_seen_is_said() -> None:
    text = as_text(comparison(BLIND))
    assert "too few blocks to detect any change; give a longer --budget" in text
    (line,) = (line for line in text.splitlines() if line.startswith("scan"))
    assert line.split() == ["scan", "qps", "0.990", "any", "undecided", "nothing", "1"]


def test_a_failed_step_and_its_note_are_shown() -> None:
    failed = row("failed", 0.0, note="no value for head in 2 of 2 blocks")
    text = as_text(comparison(failed.model_copy(update={"blocks": 0})))
    assert "scan: no value for head in 2 of 2 blocks." in text
    assert as_rows(comparison(failed.model_copy(update={"blocks": 0})))[0]["ratio"] is None
