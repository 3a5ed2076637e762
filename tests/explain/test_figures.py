from __future__ import annotations

import math

import pytest

from pipeline.explain.figures import figure_change, figure_changes

SMALLEST = 0.03
STEADY = (100.0, 100.4, 99.7, 100.1, 99.9)


def scaled(factor: float) -> list[float]:
    return [value * factor for value in reversed(STEADY)]


@pytest.mark.parametrize(
    ("metric", "factor", "verdict"),
    [
        ("qps", 0.8, "worse"),
        ("qps", 1.2, "better"),
        ("cpu_us/o", 1.2, "worse"),
        ("cpu_us/o", 0.8, "better"),
        ("cpu_us/o", 1.0, "same"),
        ("dbms wal_bytes/s", 1.5, "worse"),
    ],
)
def test_a_figure_moves_the_way_that_is_good_or_bad(
    metric: str, factor: float, verdict: str
) -> None:
    found = figure_change(metric, STEADY, scaled(factor), SMALLEST)
    assert found.verdict == verdict
    assert found.moved == (verdict != "same")
    assert found.ratio == pytest.approx(factor, rel=0.01)
    assert found.low < found.ratio < found.high
    assert found.runs == (5, 5)


def test_what_is_within_its_repetitions_did_not_move() -> None:
    noisy = [60.0, 140.0, 95.0, 120.0, 80.0]
    assert not figure_change("cs/o", noisy, [value * 1.1 for value in noisy], SMALLEST).moved


def test_one_run_a_side_decides_nothing_however_large_the_ratio() -> None:
    found = figure_change("qps", [100.0], [50.0], SMALLEST)
    assert (found.verdict, found.ratio) == ("undecided", 0.5)
    assert math.isinf(found.high)


def test_no_figure_is_less_than_nothing() -> None:
    found = figure_change("w/o", [0.1, 2.0, 0.2], [0.0, 0.0, 0.1], SMALLEST)
    assert found.low == 0.0


def test_a_change_from_zero_that_is_small_in_its_unit_is_none() -> None:
    assert figure_change("errors", [0.0] * 5, [0.5] * 5, SMALLEST).verdict == "same"
    assert figure_change("errors", [0.0] * 5, [50.0] * 5, SMALLEST).verdict == "worse"


def test_only_what_both_sides_have_is_compared_in_the_order_of_the_metrics() -> None:
    before = {"dbms stalls/s": [1.0], "cs/o": [2.0], "qps": [3.0], "latency_max": [9.0], "rss": []}
    after = {
        "qps": [3.0],
        "cs/o": [2.0],
        "dbms stalls/s": [1.0],
        "latency_max": [9.0],
        "w/o": [1.0],
    }
    found = figure_changes(before, after, SMALLEST)
    assert [change.metric for change in found] == ["qps", "cs/o", "dbms stalls/s"]


def test_evidence_is_one_sentence_with_its_unit() -> None:
    found = figure_change("cpu_us/o", STEADY, scaled(1.5), SMALLEST)
    assert found.sentence() == "cpu_us/o 100 -> 150 us (x1.50)"
    stalled = figure_change("stall_s", [0.0] * 3, [5.0] * 3, SMALLEST)
    assert stalled.sentence() == "stall_s 0 -> 5 s"
