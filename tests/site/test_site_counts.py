"""Counts on the site: functions over revisions, and what calls what in a regression."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.model import Mode
from pipeline.site.functions import MOST_CHANGED, MOST_LARGE, functions_of
from pipeline.site.trends import Trends
from tests.site.conftest import GROWN, HOSTILE_FUNCTION, Made
from tests.site.test_page import MINORS
from tests.site.test_site import data, index, numbers


def test_steps_with_functions_have_a_file_of_their_costs(counted: Made) -> None:
    counts, timed = index(counted.page)["trends"]
    assert (timed["mode"], counts["mode"]) == ("time", "count")
    assert timed["setup"] == counts["setup"]
    assert [step["functions"] for step in timed["steps"]] == [False] * 3
    # The store of the test has no functions of updates.
    assert {step["name"]: step["functions"] for step in counts["steps"]} == {
        "point-query_range=100": True,
        "scan_range=100": True,
        "update-index_range=100": False,
    }
    place = [step["name"] for step in counts["steps"]].index("scan_range=100")
    found = data(counted.page, f"0/functions-{place}")
    names = [each["name"] for each in found["functions"]]
    assert names[:3] == ["heap_getnext", "slot_deform", "ExecScan"]
    costs = dict(zip(names, map(numbers, found["costs"]), strict=True))
    grown = GROWN["heap_getnext"]
    assert costs["heap_getnext"].tolist() == [grown] * 3 + [grown + 600] * (len(MINORS) - 3)
    assert np.isnan(costs[HOSTILE_FUNCTION]).tolist() == [True] * 3 + [False] * (len(MINORS) - 3)


def test_the_largest_functions_are_shown_and_those_that_changed_most(counted: Made) -> None:
    counts, _ = Trends(counted.store).of(counted.plan)
    assert counts.mode is Mode.COUNT
    shown = functions_of(counted.store, counts)["scan_range=100"].functions
    assert len(shown) == MOST_LARGE + 1, "of the others only one changed"
    assert [each.high for each in shown] == sorted((each.high for each in shown), reverse=True)
    assert HOSTILE_FUNCTION in {each.name for each in shown}
    assert MOST_CHANGED > 1


def test_an_explained_regression_has_a_page_of_its_series_and_calls(counted: Made) -> None:
    (one,) = index(counted.page)["regressions"]
    assert one["explained"] == "regression-0"
    found = data(counted.page, one["explained"])
    assert found["why"] == "CPU: more instructions"
    (row,) = found["rows"]
    assert (row["step"], row["metric"], row["mode"]) == (
        "scan_range=100",
        "instructions/o",
        "count",
    )
    (step,) = found["steps"]
    counts = step["counted"]
    assert counts["functions"][0]["function"] == "heap_getnext"
    frames = counts["frames"]
    assert frames[0][:2] == ["", -1]
    assert frames[0][2:4] == [
        pytest.approx(counts["before"], abs=0.1),
        pytest.approx(counts["after"], abs=0.1),
    ]
    by_name = {frame[0]: frame for frame in frames}
    assert by_name["heap_getnext"][2:4] == [1200.0, 1800.0]
    assert by_name[HOSTILE_FUNCTION][2:4] == [0.0, 50.0]


def test_a_regression_without_an_explanation_has_no_page(night: Made) -> None:
    assert {one["explained"] for one in index(night.page)["regressions"]} == {""}
