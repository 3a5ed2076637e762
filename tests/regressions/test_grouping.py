from __future__ import annotations

import math
import random

import pytest

from pipeline.model import RegressionKind, RegressionState
from pipeline.model.metrics import LEAST_CHANGE, METRICS, change, is_worse
from pipeline.regressions.grouping import group_shifts, worst
from pipeline.regressions.rules import DetectionSettings
from pipeline.storage.series import Point, Series
from tests.regressions.samples import find_shifts, key, series, shift

SETTINGS = DetectionSettings()
UP = [100.0] * 5 + [130.0] * 5
DOWN = [130.0] * 5 + [100.0] * 5


@pytest.mark.parametrize(
    ("metric", "levels", "worse"),
    [
        ("qps", DOWN, True),
        ("qps", UP, False),
        ("nopm", DOWN, True),
        ("cpu_us/o", UP, True),
        ("cpu_us/o", DOWN, False),
        ("latency_p95", UP, True),
        ("a metric of a published table", DOWN, True),
    ],
)
def test_a_change_is_worse_or_better_by_its_metric(
    metric: str, levels: list[float], worse: bool
) -> None:
    (found,) = find_shifts(series(levels, metric), SETTINGS)
    assert found.worse is worse
    assert found.series.metric == metric


def test_a_change_is_described_in_the_words_of_its_series() -> None:
    (found,) = find_shifts(series(DOWN), SETTINGS)
    assert (found.position, found.last_good, found.first_bad) == (5, "17.4", "17.5")
    assert found.earliest <= 5 <= found.latest
    assert found.before == pytest.approx(130, rel=0.02)
    assert found.after == pytest.approx(100, rel=0.02)
    assert found.effect == pytest.approx(100 / 130 - 1, abs=0.02)
    assert found.effect_low <= found.effect <= found.effect_high < 0
    assert 0 < found.pvalue < 0.05


def test_no_more_than_all_is_lost() -> None:
    """Where the new level is almost nothing and the noise large, half of an interval is below."""
    noise = random.Random(4)
    levels = [100.0 + noise.gauss(0, 60) for _ in range(12)] + [
        abs(noise.gauss(0, 8)) for _ in range(12)
    ]
    found = find_shifts(series(levels), SETTINGS)
    assert found
    assert all(-1.0 <= one.effect_low <= one.effect for one in found)


def test_the_last_good_revision_is_the_last_that_was_measured() -> None:
    """Positions that nothing was measured at are no revisions of the series."""
    positions = [0, 1, 2, 3, 4, 8, 9, 10, 11, 12]
    (found,) = find_shifts(series(DOWN, positions=positions), SETTINGS)
    assert (found.position, found.last_good, found.first_bad) == (8, "17.4", "17.8")


def test_several_changes_are_found_each() -> None:
    levels = [100.0] * 6 + [130.0] * 6 + [90.0] * 6
    found = find_shifts(series(levels), SETTINGS)
    assert [(one.position, one.worse) for one in found] == [(6, False), (12, True)]


def test_a_level_series_has_no_change() -> None:
    assert find_shifts(series([100.0] * 10), SETTINGS) == []


def test_changes_below_the_smallest_effect_are_not_worth_a_word() -> None:
    levels = [100.0] * 6 + [96.0] * 6
    assert len(find_shifts(series(levels), SETTINGS)) == 1
    strict = SETTINGS.model_copy(update={"min_effect": 0.10})
    assert find_shifts(series(levels), strict) == []


def test_too_few_revisions_show_nothing() -> None:
    for count in range(3):
        assert find_shifts(series([100.0] * count), SETTINGS) == []


def test_one_position_over_steps_and_metrics_is_one_regression() -> None:
    shifts = [
        shift(5, -0.10, step="scan"),
        shift(5, +0.30, step="point-query", metric="cpu_us/o"),
        shift(5, -0.20, step="point-query"),
    ]
    (found,) = group_shifts(shifts)
    assert [one.effect for one in found.shifts] == [0.30, -0.20, -0.10]
    assert worst(found).effect == 0.30
    assert (found.position, found.last_good, found.first_bad) == (5, "17.4", "17.5")
    assert found.state is RegressionState.SUSPECTED


def test_worse_and_better_are_apart() -> None:
    found = group_shifts([shift(5, 0.5, worse=False), shift(5, -0.2, step="other")])
    assert [one.worse for one in found] == [True, False]
    assert found[0].fingerprint != found[1].fingerprint


def test_lines_are_apart() -> None:
    found = group_shifts([shift(5), shift(5, line="majors")])
    assert len({one.fingerprint for one in found}) == 2


def test_positions_in_separate_intervals_are_apart() -> None:
    assert len(group_shifts([shift(5), shift(6, step="other")])) == 2


def test_an_unsure_position_joins_a_sure_one_that_it_may_be_at() -> None:
    for pvalue in (0.0001, 0.01):
        unsure = shift(5, interval=(4, 7), pvalue=pvalue)
        (found,) = group_shifts([unsure, shift(6, step="other")])
        assert (found.position, found.first_bad) == (6, "17.6")


def test_of_two_causes_an_unsure_position_joins_the_nearer() -> None:
    found = group_shifts(
        [shift(4), shift(9, step="other"), shift(8, step="unsure", interval=(3, 12))]
    )
    extents = {one.position: {s.series.step for s in one.shifts} for one in found}
    assert extents == {4: {"scan"}, 9: {"other", "unsure"}}


def test_intervals_that_touch_one_another_only_in_turn_are_no_single_cause() -> None:
    chain = [shift(at, step=f"s{at}", interval=(at - 1, at + 1)) for at in (3, 5, 7)]
    assert len(group_shifts(chain)) == 2


def test_a_series_that_changed_twice_had_two_causes() -> None:
    assert len(group_shifts([shift(5, interval=(4, 7)), shift(7, interval=(6, 8))])) == 2


def test_kinds_are_apart() -> None:
    spread = shift(5, 1.5, step="other").model_copy(update={"kind": RegressionKind.SPREAD})
    found = group_shifts([shift(5), spread])
    assert {one.kind for one in found} == {RegressionKind.LEVEL, RegressionKind.SPREAD}
    assert len({one.fingerprint for one in found}) == 2


def test_noise_that_grows_is_a_regression_of_its_own_kind() -> None:
    drawn = random.Random(5)
    noisy = exactly(
        "qps",
        [[100 * drawn.gauss(1, 0.003 if at < 12 else 0.05) for _ in range(5)] for at in range(24)],
    )
    (found,) = find_shifts(noisy, SETTINGS)
    assert (found.kind, found.worse) == (RegressionKind.SPREAD, True)
    assert found.earliest <= 12 <= found.latest
    assert found.after > 5 * found.before
    assert change(found).endswith("% (spread)")
    calmer = exactly(
        "qps", [[p.value for p in noisy.points if p.position == 23 - at] for at in range(24)]
    )
    (back,) = find_shifts(calmer, SETTINGS)
    assert (back.kind, back.worse) == (RegressionKind.SPREAD, False)
    deaf = DetectionSettings(min_effect=0.1)
    assert find_shifts(noisy, deaf) == [], "five percent hide nothing that is of interest"


def test_a_missed_sla_is_a_kind_and_less_of_it_is_none() -> None:
    met, missed, worse = [1.0, 0.99, 1.0], [0.8, 0.81, 0.79], [0.5, 0.51, 0.5]
    (found,) = find_shifts(exactly("sla", [met] * 6 + [missed] * 6), SETTINGS)
    assert (found.kind, found.worse) == (RegressionKind.SLA, True)
    (back,) = find_shifts(exactly("sla", [missed] * 6 + [met] * 6), SETTINGS)
    assert not back.worse
    assert find_shifts(exactly("sla", [missed] * 6 + [worse] * 6), SETTINGS) == []


def test_positions_inside_of_each_others_intervals_are_together() -> None:
    (found,) = group_shifts([shift(6, interval=(4, 7)), shift(5, interval=(4, 6), step="other")])
    assert found.position == 5, "the surest gives the position"
    assert found.first_bad == "17.5"


def test_the_worst_comes_first_and_improvements_last() -> None:
    found = group_shifts(
        [shift(2, 0.9, worse=False), shift(4, -0.1), shift(6, -0.5), shift(8, 0.2, worse=False)]
    )
    assert [worst(one).effect for one in found] == [-0.5, -0.1, 0.9, 0.2]


def test_regressions_do_not_depend_on_the_order_of_the_shifts() -> None:
    shifts = [
        shift(place, -0.01 * place, step=f"step {n}", interval=(place - 1, place + 1), pvalue=p)
        for n, (place, p) in enumerate([(3, 0.1), (4, 0.2), (5, 0.3), (8, 0.1), (9, 0.4)])
    ]
    expected = group_shifts(shifts)
    for seed in range(10):
        random.Random(seed).shuffle(shifts)
        assert group_shifts(shifts) == expected
    assert sorted(s.position for one in expected for s in one.shifts) == [3, 4, 5, 8, 9]


def test_the_fingerprint_stays_while_figures_and_series_change() -> None:
    (first,) = group_shifts([shift(5, -0.2)])
    (again,) = group_shifts([shift(5, -0.3, pvalue=1e-6), shift(5, -0.1, step="other")])
    assert first.fingerprint == again.fingerprint
    (other,) = group_shifts([shift(6, -0.2)])
    assert first.fingerprint != other.fingerprint


def test_no_shifts_are_no_regressions() -> None:
    assert group_shifts([]) == []


def test_no_change_is_not_worse() -> None:
    assert not is_worse("qps", 0.0)
    assert not is_worse("cpu_us/o", 0.0)


def exactly(metric: str, values: list[list[float]]) -> Series:
    """The values of each position as they are; a position may have none."""
    return Series.of(
        key=key(metric=metric),
        points=tuple(
            Point(
                position=place,
                revision=f"17.{place}",
                repetition=repetition,
                value=value,
                run_id=f"{place}-{repetition}",
            )
            for place, found in enumerate(values)
            for repetition, value in enumerate(found, start=1)
        ),
    )


def test_a_stall_where_there_was_none_is_shown_in_seconds() -> None:
    stalls = exactly("stall_s", [[0.0] * 3] * 6 + [[5.0, 6.0, 5.0], [5.0, 4.0, 5.0]] * 3)
    (found,) = find_shifts(stalls, SETTINGS)
    assert (found.before, found.worse, found.first_bad) == (0.0, True, "17.6")
    assert math.isinf(found.effect)
    assert change(found) == "+5 s"


def test_the_end_of_a_stall_is_shown_too() -> None:
    (found,) = find_shifts(exactly("stall_s", [[5.0] * 3] * 6 + [[0.0] * 3] * 6), SETTINGS)
    assert not found.worse
    assert change(found) == "-100.0%"


def test_a_change_too_small_in_its_own_unit_is_none() -> None:
    """Of drifts of half a percent, one is twice another, and neither is of interest."""
    assert find_shifts(series([0.004] * 6 + [0.008] * 6, "drift"), SETTINGS) == []
    assert len(find_shifts(series([0.004] * 6 + [0.08] * 6, "drift"), SETTINGS)) == 1


def test_least_changes_are_of_metrics_there_are() -> None:
    assert LEAST_CHANGE.keys() <= METRICS.keys()


def test_runs_without_a_value_are_skipped() -> None:
    some = [[30.0, 31.0], [], [30.5], [30.0, 30.2, 30.1], [], [30.3]]
    more = [[60.0], [], [61.0, 60.5], [60.2, 60.1], [60.3], []]
    (found,) = find_shifts(exactly("period_s", some + more), SETTINGS)
    assert (found.last_good, found.first_bad) == ("17.5", "17.6")


def test_a_change_from_zero_hides_no_loss_of_throughput() -> None:
    stall = shift(4, math.inf, metric="stall_s").model_copy(update={"before": 0.0, "after": 3.0})
    (found,) = group_shifts([stall, shift(4, -1.0), shift(4, 2.0, metric="cpu_us/o")])
    assert worst(found).series.metric == "cpu_us/o"
    assert found.shifts[0] == worst(found)
