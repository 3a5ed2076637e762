"""What a page holds of runs over time: throughput, activity, stalls, marks, missed SLAs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.regressions.detected import Detected
from pipeline.site.night import timelines
from pipeline.site.night.activity import FIELDS, in_order, moves, wording
from pipeline.site.night.response import shares, slower
from pipeline.workloads.base.histogram import PUBLISHED_EDGES_MS

from .page_store import STEPS, add_figure, make_store, over_time
from .pages import report_page
from .test_page import NOW, Elements, document, row_of

STEP = STEPS[0].name
REVISIONS = ("17.5", "17.6")
SECONDS = 3600
DIP = 1800


def throughput(dip: float = 0.0) -> list[list[float | None]]:
    """Even but for two seconds."""
    return [
        [float(at), dip if at in (DIP, DIP + 1) else 4000.0 + at % 50, 0.2]
        for at in range(1, SECONDS + 1)
    ]


def reported(*values: float) -> list[list[float]]:
    return [[float(at), value] for at, value in enumerate(values)]


def page_of(folder: Path) -> str:
    """Two revisions, of the second one repetition is marked and one missed its rates."""
    store, plan = make_store(folder, {"line": REVISIONS}, repetitions=2, seconds=12)
    for revision in REVISIONS:
        over_time(
            store,
            STEP,
            revision,
            1,
            timeline=throughput(),
            activity={
                "wal_bytes/s": reported(1e6, 5e6, 1e6),
                "vacuums": reported(0, 0, 0),
                "dirty_pages": reported(1000, 1001, 1002),
                "something_new_bytes": reported(0, 1, 0),
            },
            histogram=[[0.2, 90], [3.0, 9], [900.0, 1]],
        )
    over_time(store, STEP, "17.6", 1, marks=["still warming for 12 s of 60 s"])
    add_figure(store, STEP, "17.6", 1, "warming_s", 12.0)
    over_time(
        store,
        STEP,
        "17.6",
        2,
        status="sla failed",
        note="50 of 100 deletes/s",
        histogram=[[16.0, 1000]],
    )
    nothing = Detected(plan="", series=0, regressions=())
    path = report_page(folder / "r.html", store, plan, nothing, NOW)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(tmp_path_factory.mktemp("night"))


@pytest.fixture(scope="module")
def whole(page: str) -> dict[str, Any]:
    return document(page)


def chart_of(whole: dict[str, Any], step: str = STEP) -> dict[str, Any]:
    found: dict[str, Any] = next(chart for chart in whole["charts"] if chart["step"] == step)
    return found


def run_of(whole: dict[str, Any], chart: dict[str, Any], position: int, repetition: int) -> Any:
    point = next(one for one in chart["points"] if one[:2] == [position, repetition])
    return whole["timelines"][point[3]]


def test_a_long_run_is_thinned_and_its_dip_is_kept(whole: dict[str, Any]) -> None:
    line = run_of(whole, chart_of(whole), 0, 1)
    assert line["reports"] == SECONDS
    assert len(line["t"]) == len(line["v"]) <= timelines.MOST_POINTS
    assert min(line["v"]) == 0
    assert line["t"][line["v"].index(0)] == DIP
    assert line["thinned"] is True
    assert line["stalls"] == [[DIP - 1, DIP + 1]]


def test_only_fields_that_moved_are_kept_in_words_read_options(whole: dict[str, Any]) -> None:
    chart = chart_of(whole)
    fields = [whole["fields"][index] for index in chart["fields"]]
    assert fields == [
        {"name": "wal_bytes/s", "label": "WAL written", "unit": "bytes/s"},
        {"name": "something_new_bytes", "label": "something new bytes", "unit": "bytes"},
    ]
    activity = run_of(whole, chart, 0, 1)["activity"]
    assert activity[str(chart["fields"][0])] == {"t": [0, 1, 2], "v": [1000000, 5000000, 1000000]}
    assert chart_of(whole, STEPS[1].name)["fields"] == []


def test_a_run_that_failed_its_sla_has_no_figure_and_is_named(
    page: str, whole: dict[str, Any]
) -> None:
    chart = chart_of(whole)
    place = next(at for at, point in enumerate(chart["points"]) if point[:2] == [1, 2])
    assert chart["sla"] == {str(place): "50 of 100 deletes/s"}
    assert chart["values"]["qps"][place] is None
    assert chart["medians"]["qps"][1] == chart["values"]["qps"][place - 1]
    assert chart["failed"] == []
    assert "17.6, repetition 2: 50 of 100 deletes/s" in page
    assert "1 measurement failed its SLA, in 1 step" in page
    elements = Elements(page)
    assert row_of(elements, STEP, "line", "17.6", "2")[4] == "SLA: 50 of 100 deletes/s"


def test_where_every_run_failed_its_sla_the_tables_say_so(tmp_path: Path) -> None:
    store, plan = make_store(tmp_path, {"line": REVISIONS}, repetitions=1)
    over_time(store, STEP, "17.6", 1, status="sla failed", note="50 of 100 deletes/s")
    nothing = Detected(plan="", series=0, regressions=())
    path = report_page(tmp_path / "r.html", store, plan, nothing, NOW)
    elements = Elements(path.read_text(encoding="utf-8"))
    assert [row[2] for row in elements.rows if row[0] == STEP and len(row) == 3] == ["SLA"] * 2
    revision = [row for row in elements.rows if row[0] == "17.6" and "SLA" in row]
    assert revision[0][1] == "0✕"


def test_marks_stand_beside_the_figures_and_at_their_dot(page: str, whole: dict[str, Any]) -> None:
    chart = chart_of(whole)
    place = next(at for at, point in enumerate(chart["points"]) if point[:2] == [1, 1])
    assert chart["marks"] == {str(place): ["still warming for 12 s of 60 s"]}
    assert "17.6, repetition 1: still warming for 12 s of 60 s" in page
    assert run_of(whole, chart, 1, 1)["warming"] == 12
    assert "warming" not in run_of(whole, chart, 0, 1)


def test_response_times_are_of_all_runs_that_count(whole: dict[str, Any]) -> None:
    found = chart_of(whole)["responses"]
    # 0.2 ms, 3 ms and 900 ms; the run that failed its SLA took 16 ms for everything.
    assert found["1"]["buckets"] == [0.9, 0, 0.09, 0, 0, 0, 0.01, 0, 0, 0]
    assert (found["1"]["t"], found["1"]["slower"]) == ([0.2, 3, 900], [0.1, 0.01, 0])
    assert (found["1"]["operations"], found["1"]["max"]) == (100, 900)


def test_a_field_moves_by_a_hundredth_or_more() -> None:
    assert not moves([1, 1])
    assert not moves([0, 0])
    assert moves([0, 1])
    assert not moves([1000, 1009])
    assert moves([1000, 1020, 1000])
    assert moves([-1020, -1000])


def test_known_fields_come_in_their_order_and_others_after_them() -> None:
    names = {"b", "history_length", "a", "vacuums"}
    assert in_order(names) == ["vacuums", "history_length", "a", "b"]


def test_every_field_has_words_and_a_rate_has_a_unit() -> None:
    for name, (label, unit) in FIELDS.items():
        assert label and label != name
        # A part of the time has no unit.
        assert unit.endswith("/s") is (name.endswith("/s") and not name.endswith("_s/s"))
    assert wording("things/s").unit == "1/s"
    assert wording("cache_bytes/s").unit == "bytes/s"


def test_shares_by_published_bucket_include_the_bound() -> None:
    histogram = [(0.256, 1), (0.26, 1), (16000.0, 1), (16001.0, 1)]
    found = shares(histogram)
    assert len(found) == len(PUBLISHED_EDGES_MS) + 1
    assert found == [0.25, 0.25, 0, 0, 0, 0, 0, 0, 0.25, 0.25]


def test_the_curve_is_exact_where_it_has_points_and_has_few() -> None:
    histogram = [(0.001 * 1.018**bucket, bucket) for bucket in range(1, 900)]
    total = sum(count for _, count in histogram)
    found = slower(histogram)
    assert len(found) < 100
    for bound, share in found:
        assert share == sum(count for upper, count in histogram if upper > bound) / total
    assert found[-1] == (histogram[-1][0], 0)


def test_a_page_of_many_runs_stays_small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(timelines, "MOST_THROUGHPUT", 400)
    monkeypatch.setattr(timelines, "MOST_ACTIVITY", 60)
    whole = document(page_of(tmp_path))
    lines: Any = whole["timelines"]
    assert sum(len(line["t"]) for line in lines) <= 400
    assert sum(len(one["t"]) for line in lines for one in line["activity"].values()) <= 60
    assert min(run_of(whole, chart_of(whole), 1, 1)["v"]) == 0
