"""Counted series: exact, found on the first night, and untouched by all that concerns machines."""

from __future__ import annotations

import pytest

from pipeline.config import DetectSection, RuleSection
from pipeline.model import Mode
from pipeline.model.counts import FLOOR, INSTRUCTIONS
from pipeline.regressions.counted import by_mode
from pipeline.regressions.grouping import group_shifts
from pipeline.regressions.recovery import recovered
from pipeline.regressions.rules import Rules
from pipeline.storage.series import Series
from tests.regressions.samples import find_shifts, series


def counts(*levels: float) -> Series:
    """A counted series with one value at each position."""
    return Series.of(
        series(levels).key.model_copy(
            update={"mode": Mode.COUNT, "metric": INSTRUCTIONS, "workload_hash": "counted"}
        ),
        [
            point._replace(value=level)
            for point, level in zip(series(levels).points[::3], levels, strict=True)
        ],
    )


def test_one_night_with_one_more_revision_shows_a_change() -> None:
    rules = Rules(DetectSection())
    one = counts(64.83, 64.83, 64.91, 93.47)
    (shift,) = find_shifts(one, rules.settings_of(one.key, 1))
    assert (shift.last_good, shift.first_bad) == ("17.2", "17.3")
    assert (shift.earliest, shift.position, shift.latest) == (3, 3, 3)
    assert shift.worse
    assert (shift.before, shift.after) == (64.91, 93.47)
    assert shift.effect_high - shift.effect == pytest.approx(FLOOR)
    assert shift.pvalue == 0.0


def test_counted_series_have_a_smallest_change_of_their_own() -> None:
    settings = DetectSection.model_validate({"min_effect_counted": "0.1%"}, strict=False)
    one = counts(64.83, 64.83, 64.91, 93.47)
    assert len(find_shifts(one, Rules(settings).settings_of(one.key, 1))) == 2
    rule = RuleSection.model_validate({"step": "scan", "min_effect": "50%"}, strict=False)
    assert not find_shifts(one, Rules(settings, [rule]).settings_of(one.key, 1))


def test_counted_series_take_no_part_in_the_budget() -> None:
    rules = Rules(DetectSection(alarms_per_1000=2))
    timed, counted = by_mode([series([1.0]), counts(1.0)])
    assert [one.key.mode for one in (*timed, *counted)] == [Mode.TIME, Mode.COUNT]
    assert rules.settings_of(timed[0].key, 1).alarms_per_1000 == 2
    assert rules.settings_of(counted[0].key, 1).alarms_per_1000 == 0


@pytest.mark.parametrize(
    ("newest", "gone"), [(64.83, True), (64.0, True), (65.1, True), (70.0, False), (93.47, False)]
)
def test_the_newest_count_says_whether_a_regression_is_gone(newest: float, gone: bool) -> None:
    one = counts(64.83, 93.47, 93.47, newest)
    first, *_ = find_shifts(one, Rules(DetectSection()).settings_of(one.key, 1))
    (slower,) = group_shifts([first])
    assert recovered(slower, {one.key: one}, {}, DetectSection()) is gone
    alone = counts(64.83, 93.47)
    assert not recovered(slower, {one.key: alone}, {}, DetectSection())
