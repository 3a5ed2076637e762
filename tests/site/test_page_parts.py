"""The pure parts of the page: wording, chart data, settings."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta, timezone

import pytest

from pipeline.explain.settings import PER_RUN_SETTINGS, compare_settings
from pipeline.site.content_security import embedded
from pipeline.site.format import Anchors, change, figure, interval, moment, percent, probability
from pipeline.text.units import plural
from tests.regressions.samples import shift


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-0.1234, "\u221212.3 %"),
        (0.05, "+5.0 %"),
        (-0.0001, "±0.0 %"),
        (math.inf, "+∞"),
        (-math.inf, "\u2212∞"),
    ],
)
def test_percent(value: float, text: str) -> None:
    assert percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (0.0, "0"),
        (3016443.2, "3\u202f016\u202f443"),
        (123.4, "123"),
        (12.34, "12.3"),
        (0.0121, "0.0121"),
        (0.00068, "6.8e\u22124"),
        (-2.5, "\u22122.50"),
    ],
)
def test_figure(value: float | None, text: str) -> None:
    assert figure(value) == text


def test_probability_is_never_zero() -> None:
    assert probability(0.0) == "< 0.0001"
    assert probability(0.0123) == "0.012"


def test_counted() -> None:
    assert plural(1, "run") == "1 run"
    assert plural(2, "series", "series") == "2 series"


def test_moment_is_in_utc_whatever_the_store_returns() -> None:
    here = datetime(2026, 3, 1, 22, 0, tzinfo=timezone(timedelta(hours=2)))
    assert moment(here) == "2026-03-01 20:00 UTC"
    assert moment(datetime(2026, 3, 1, 20, 0, tzinfo=UTC)) == moment(here)


def test_anchors_are_unique_and_safe() -> None:
    anchors = Anchors()
    assert anchors.new("pg 17", "scan_range=100") == "pg-17--scan_range-100"
    assert anchors.new("pg-17", "scan_range=100") == "pg-17--scan_range-100.2"
    assert anchors.new('"><x>') == "x"


def test_embedded_json_cannot_leave_its_element() -> None:
    document = {"note": "</script><!-- & \u2028"}
    text = embedded(document)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == document


def test_embedded_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="JSON"):
        embedded({"x": math.nan})


def test_settings_that_differ_from_run_to_run_are_left_out() -> None:
    old = {"port": "1", "shared_buffers": "1 8kB", "gone": "x", "same": "y"}
    new = {"port": "2", "shared_buffers": "2 8kB", "come": "", "same": "y"}
    step = compare_settings(old, new)
    assert step.changed == (("shared_buffers", "1 8kB", "2 8kB"),)
    assert step.added == (("come", ""),)
    assert step.removed == (("gone", "x"),)
    assert step.summary == "1 changed, 1 added, 1 removed"
    assert "port" in PER_RUN_SETTINGS


def test_equal_settings_are_no_difference() -> None:
    assert compare_settings({"port": "1"}, {"port": "2"}).summary == "no difference"


def test_a_change_from_zero_is_shown_in_its_own_unit() -> None:
    relative = shift(3, -0.2)
    assert change(relative) == "\u221220.0 %"
    assert interval(relative) == "\u221221.0 % to \u221219.0 %"
    stall = shift(3, math.inf, metric="stall_s").model_copy(update={"before": 0.0, "after": 5.0})
    assert (change(stall), interval(stall)) == ("+5 s", "–")
