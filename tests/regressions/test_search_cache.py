"""Searches that are kept: what is new is searched, and the result is that of a new search."""

from __future__ import annotations

from pathlib import Path

import pytest

from changepoint import Pooled
from changepoint.comparison.verdict import Verdict
from pipeline.config import DetectSection
from pipeline.measure.plan import Plan
from pipeline.regressions import detect, pooled_detection, recovery, search_cache
from pipeline.regressions.detect import search
from pipeline.regressions.detected import Detected
from pipeline.regressions.grouping import group_shifts
from pipeline.regressions.pooled_detection import WINDOW, Window, search_window, shared_shifts
from pipeline.regressions.recovery import LevelPair, compare_levels, recovered
from pipeline.regressions.rules import DetectionSettings, Rules
from pipeline.regressions.search_cache import SearchCache
from pipeline.regressions.shifts import KnownNoise, SearchedSeries, search_series
from pipeline.storage.columns_file import DERIVED
from pipeline.storage.series import Series
from tests.regressions.samples import series as levels_of
from tests.regressions.samples import shift
from tests.regressions.test_pooled_detection import measured

RULES = Rules(DetectSection(alarms_per_1000=0.5))
NO_PLAN = Plan(lines=(), repetitions=3)


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was searched: the names of steps, and of windows their first and last position."""
    found: list[str] = []
    one, window = search_series, search_window

    def shifts_of(series: Series, watch: DetectionSettings, noise: KnownNoise) -> SearchedSeries:
        found.append(series.key.step)
        return one(series, watch, noise)

    def changes_of(part: Window) -> Pooled:
        found.append(f"{part.positions[0]}-{part.positions[-1]}")
        return window(part)

    monkeypatch.setattr(detect, "search_series", shifts_of)
    monkeypatch.setattr(pooled_detection, "search_window", changes_of)
    return found


def slower(number: int, at: int) -> float:
    return 0.9 if at >= 8 and number else 1.0


def night(series: list[Series], folder: Path) -> Detected:
    known = SearchCache(folder)
    found = search(series, NO_PLAN, RULES, once=known.once)
    known.save()
    return found


def test_what_did_not_change_is_not_searched_again(tmp_path: Path, searches: list[str]) -> None:
    series = measured(slower, count=3)
    first = night(series, tmp_path)
    assert sorted(searches) == ["0-13", "step 00", "step 01", "step 02"]
    searches.clear()
    assert night(series, tmp_path) == first
    assert searches == []
    assert first.regressions
    assert search(series, NO_PLAN, RULES) == first


def test_a_changed_value_is_searched_again(tmp_path: Path, searches: list[str]) -> None:
    series = measured(slower, count=3)
    night(series, tmp_path)
    searches.clear()
    series[1] = series[1].with_values(series[1].values * 1.001)
    assert night(series, tmp_path) == search(series, NO_PLAN, RULES)
    assert sorted(searches[:2]) == ["0-13", "step 01"]


def test_other_rules_are_another_search(tmp_path: Path, searches: list[str]) -> None:
    series = measured(slower, count=2)
    night(series, tmp_path)
    searches.clear()
    known = SearchCache(tmp_path)
    other = Rules(DetectSection.model_validate({"alarms_per_1000": 0.5, "min_effect": "20%"}))
    assert search(series, NO_PLAN, other, once=known.once).regressions == ()
    assert sorted(searches) == ["step 00", "step 01"]


def test_other_code_searches_everything(
    tmp_path: Path, searches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    series = measured(slower, count=2)
    first = night(series, tmp_path)
    searches.clear()
    monkeypatch.setattr(search_cache, "_code", lambda: "other")
    assert night(series, tmp_path) == first
    assert len(searches) == 3


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"code": 1'])
def test_a_damaged_file_is_not_used(tmp_path: Path, content: str) -> None:
    series = measured(slower, count=2)
    first = night(series, tmp_path)
    (tmp_path / DERIVED / search_cache.FILE).write_text(content)
    assert night(series, tmp_path) == first


def test_what_no_night_needs_any_more_is_dropped(tmp_path: Path) -> None:
    series = measured(slower, count=3)
    night(series, tmp_path)
    size = (tmp_path / DERIVED / search_cache.FILE).stat().st_size
    night(series[:1], tmp_path)
    assert (tmp_path / DERIVED / search_cache.FILE).stat().st_size < size / 2


def test_of_a_long_line_one_more_position_is_one_window(searches: list[str]) -> None:
    """Small changes that all series share, in the middle of a window and where windows meet."""

    def level(number: int, at: int) -> float:
        return (0.955 if at >= 310 else 1.0) * (0.955 if at >= 700 else 1.0)

    known = SearchCache()
    long = measured(level, count=6, positions=1001, noise=0.03)
    before = [one.where(one.positions < 1000) for one in long]
    found = shared_shifts(before, [], RULES, known.once)
    assert searches == ["0-399", "200-599", "400-799", "600-999"]
    places = sorted({shift.position for shift in found})
    assert [min(places, key=lambda at: abs(at - true)) for true in (310, 700)] == places
    assert all(abs(at - true) < WINDOW // 8 for at, true in zip(places, (310, 700), strict=True))
    searches.clear()
    again = shared_shifts(long, [], RULES, known.once)
    assert searches == ["800-1000"]
    assert {shift.position for shift in again} == set(places)


def test_a_comparison_is_kept_and_another_one_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    still = [100.0] * 6 + [80.0] * 6
    back = still[:9] + [100.0] * 3
    better = still[::-1]
    asked = [
        (back, "qps", "5%"),
        (still, "qps", "5%"),
        (better, "qps", "5%"),
        (still, "cpu_us/o", "5%"),
        (still, "qps", "50%"),
    ]
    compared: list[LevelPair] = []

    def compare(levels: LevelPair) -> Verdict:
        compared.append(levels)
        return compare_levels(levels)

    monkeypatch.setattr(recovery, "compare_levels", compare)
    for _ in range(2):
        known = SearchCache(tmp_path)
        gone = []
        for levels, metric, smallest in asked:
            (slower,) = group_shifts([shift(6, metric=metric)])
            one = levels_of(levels, metric)
            settings = DetectSection.model_validate({"min_effect": smallest})
            gone.append(recovered(slower, {one.key: one}, {}, settings, known.once))
        assert gone == [True, False, True, True, True]
        known.save()
    assert len(compared) == len(asked)


def test_a_result_is_that_of_equal_parts(tmp_path: Path) -> None:
    parts = [("a", "bc"), ("ab", "c"), ("a", "b", "c"), ("a", b"bd")]
    known = SearchCache(tmp_path)
    found = [known.once(part, [number].copy) for number, part in enumerate(parts)]
    assert found == [[0], [1], [2], [3]]
    known.save()
    later = SearchCache(tmp_path)
    assert [later.once(part, list) for part in parts] == found
    assert later.once(("a", "bd", "c"), list) == []
