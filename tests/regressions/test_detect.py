"""The stage detect on a real store with known changes."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from pipeline.config import DetectSection
from pipeline.measure.plan import Plan
from pipeline.regressions.detect import detect_all
from pipeline.regressions.detected import Detected, read_detection_of, save_detected
from pipeline.regressions.grouping import group_shifts
from pipeline.regressions.watched import watched_series
from pipeline.storage.columns import measurement_columns
from pipeline.text.errors import UserError
from tests.regressions.samples import shift
from tests.site.page_store import STEPS, make_store

MINORS = [f"17.{minor}" for minor in range(8)]
MAJORS = ["16.9", "17.7"]
NO_PLAN = Plan(lines=(), repetitions=1)


def regressed(step: str, position: int, metric: str) -> float:
    """From 17.4 on a scan takes a quarter more processor time and is a fifth slower."""
    if step != "scan_range=100" or position < 4:
        return 1.0
    return {"qps": 0.8, "cpu_us/o": 1.25}.get(metric, 1.0)


def test_the_watched_series_are_those_of_the_lines_and_metrics(tmp_path: Path) -> None:
    store, plan = make_store(tmp_path, {"minors": MINORS, "majors": MAJORS})
    found = watched_series(measurement_columns(store, ("qps", "cpu_us/o")), plan, DetectSection())
    assert len(found) == 2 * 2 * len(STEPS)
    assert {(one.key.line, one.key.metric) for one in found} == {
        (line, metric) for line in ("minors", "majors") for metric in ("qps", "cpu_us/o")
    }
    for one in found:
        revisions = MINORS if one.key.line == "minors" else MAJORS
        assert list(dict.fromkeys(point.revision for point in one.points)) == revisions
        assert len(one.points) == 3 * len(revisions)


def test_a_change_is_found_once_for_all_that_it_changed(tmp_path: Path) -> None:
    store, plan = make_store(tmp_path, {"minors": MINORS}, level=regressed)
    calls: list[None] = []
    detected = detect_all(store, plan, DetectSection(), lambda: calls.append(None))
    assert detected.series == len(calls) == 2 * len(STEPS)
    (found,) = detected.regressions
    assert (found.line, found.last_good, found.first_bad) == ("minors", "17.3", "17.4")
    assert found.worse
    assert {(one.series.step, one.series.metric) for one in found.shifts} == {
        ("scan_range=100", "qps"),
        ("scan_range=100", "cpu_us/o"),
    }
    again = detect_all(store, plan, DetectSection())
    assert again == detected


def test_only_the_metrics_of_the_settings_are_looked_at(tmp_path: Path) -> None:
    store, plan = make_store(tmp_path, {"minors": MINORS}, level=regressed)
    assert detect_all(store, plan, DetectSection(metrics=("cs/o",))).regressions == ()


def test_an_unchanged_line_shows_nothing(tmp_path: Path) -> None:
    store, plan = make_store(tmp_path, {"minors": MINORS, "control": ["17.7", "17.7#2"]})
    assert detect_all(store, plan, DetectSection()).regressions == ()


def test_what_was_detected_is_kept_for_the_stages_after(tmp_path: Path) -> None:
    store, plan = make_store(tmp_path / "store", {"minors": MINORS}, level=regressed)
    detected = detect_all(store, plan, DetectSection())
    assert detected.regressions
    results = tmp_path / "made" / "as needed"
    path = save_detected(detected, results)
    assert read_detection_of(results, plan) == detected
    assert [each.name for each in results.iterdir()] == [path.name], "nothing half written is left"


def test_an_effect_without_bounds_survives(tmp_path: Path) -> None:
    """Relative to a level of zero every effect is infinite, and JSON has no such number."""
    endless = shift(5, math.inf).model_copy(update={"effect_low": -math.inf})
    (found,) = group_shifts([endless])
    detected = Detected(plan=NO_PLAN.hash, series=1, regressions=(found,))
    save_detected(detected, tmp_path)
    assert read_detection_of(tmp_path, NO_PLAN) == detected
    json.loads((tmp_path / "detected.json").read_text(), parse_constant=pytest.fail)


def test_what_was_detected_for_another_plan_is_refused(tmp_path: Path) -> None:
    store, plan = make_store(tmp_path / "store", {"minors": MINORS[:2]})
    save_detected(detect_all(store, plan, DetectSection()), tmp_path)
    with pytest.raises(UserError, match="was written for another plan; run `nightshift detect`"):
        read_detection_of(tmp_path, NO_PLAN)


def test_nothing_was_detected_yet(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"detection has not run on .* `nightshift det"):
        read_detection_of(tmp_path, NO_PLAN)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"series": 1}'])
def test_damaged_detections_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "detected.json").write_text(text)
    with pytest.raises(UserError, match=r"detected\.json is damaged; run `nightshift detect`"):
        read_detection_of(tmp_path, NO_PLAN)
