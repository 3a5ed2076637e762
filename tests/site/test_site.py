"""The site as files: what they say of known measurements, and that they are whole or not there."""

from __future__ import annotations

import base64
import json
import math
import re
import shutil
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.config import DetectSection
from pipeline.environment.events import Effect, EnvironmentEvent, MachineEventKind
from pipeline.model import RegressionState
from pipeline.regressions.detect import detect_all
from pipeline.regressions.detected import Detected
from pipeline.regressions.states import KnownRegression
from pipeline.site.machines import SiteMachines
from pipeline.site.trends import Trends, median
from pipeline.storage.journal import Event, EventKind
from pipeline.text.errors import UserError
from tests.site.conftest import HOSTILE_GROUP, Made
from tests.site.page_store import make_store, never, over_time
from tests.site.pages import site_page
from tests.site.test_page import MINORS, NOW, level


def index(page: Path) -> Any:
    found = re.search(
        r'<script type="application/json" id="index">(.*?)</script>', page.read_text()
    )
    assert found is not None
    return json.loads(found[1])


def data(page: Path, name: str) -> Any:
    text = (page.parent / index(page)["data"] / f"{name}.js").read_text()
    assert text.startswith("nightshift(") and text.endswith(");\n")
    document = json.loads(text[len("nightshift(") : -len(");\n")])
    assert document["name"] == name
    return document["data"]


def numbers(text: str, kind: str = "<f4") -> Any:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def write(made: Made, folder: Path, now: datetime = NOW, **more: Any) -> Path:
    return site_page(folder, made.store, made.plan, made.detected, now, **more)


def test_the_medians_are_those_of_the_measurements(night: Made) -> None:
    trends = index(night.page)["trends"]
    assert [trend["line"] for trend in trends] == ["minors"] * 2 + ["control"] * 2 + ["branch"] * 2
    first = trends[0]
    steps = [step["name"] for step in first["steps"]]
    assert steps == ["point-query_range=100", "scan_range=100", "update-index_range=100"]
    place = first["metrics"].index("qps")
    medians = numbers(data(night.page, f"0/metric-{place}")["medians"]).reshape(3, len(MINORS))
    trend = data(night.page, "0/trend")
    assert trend["labels"] == list(MINORS)
    runs = numbers(data(night.page, "0/step-1")["values"]["qps"])
    places = numbers(trend["places"], "<u4")
    assert len(runs) == len(places) == 3 * len(MINORS)
    for revision in range(len(MINORS)):
        of = runs[places == revision]
        assert medians[1, revision] == pytest.approx(np.nanmedian(of))
    scan = medians[1] / medians[1, 0]
    assert scan[:3] == pytest.approx(1, abs=0.03)
    assert scan[3:] == pytest.approx(0.86, abs=0.03)


def test_what_failed_has_no_figure_and_says_why(night: Made) -> None:
    trend = data(night.page, "0/trend")
    failed = [
        (trend["labels"][numbers(trend["places"], "<u4")[run]], step, status)
        for run, step, status, _ in trend["failures"]
    ]
    assert sorted(failed) == [("17.7", 2, "failed")] * 3 + [("17.9", 1, "failed")]
    runs = numbers(data(night.page, "0/step-1")["values"]["qps"])
    (scan,) = (run for run, step, _, _ in trend["failures"] if step == 1)
    assert np.isnan(runs[scan])
    assert np.count_nonzero(np.isnan(runs)) == 1


def test_the_overview_has_what_was_found_worst_first(night: Made) -> None:
    found = index(night.page)["regressions"]
    assert [(one["worse"], one["line"]) for one in found] == [
        (regression.worse, regression.line)
        for regression in sorted(night.detected.regressions, key=lambda one: not one.worse)
    ]
    worst = found[0]
    assert (worst["state"], worst["first_bad"], worst["step"]) == (
        "suspected",
        night.detected.regressions[0].first_bad,
        "scan_range=100",
    )
    assert worst["issue"] == f"../issues/{worst['fingerprint']}.md"
    (group,) = (
        one
        for one in index(night.page)["trends"][0]["groups"]
        if one["group"] == "range queries without aggregation"
    )
    assert group["newest"] == pytest.approx(0.86, abs=0.02)
    assert group["worst"]["step"] == "scan_range=100"


def test_decisions_come_first_by_what_is_open(night: Made, tmp_path: Path) -> None:
    first, *_ = night.detected.regressions
    gone = first.model_copy(
        update={"fingerprint": "gone", "state": RegressionState.ACKNOWLEDGED, "line": "elsewhere"}
    )
    decided = Event(
        at=NOW,
        event=EventKind.ACKNOWLEDGED,
        fingerprint="gone",
        note="a trade for <correctness>",
    )
    known = [KnownRegression(gone, decided=decided)]
    page = site_page(tmp_path, night.store, night.plan, night.detected, NOW, known)
    last = index(page)["regressions"][-1]
    assert (last["fingerprint"], last["state"]) == ("gone", "acknowledged")
    assert last["note"] == "a trade for <correctness>"
    assert last["trend"] == ""


def test_anchors_are_those_of_the_report_page(night: Made) -> None:
    report = night.report.read_text()
    anchors = [step["anchor"] for trend in index(night.page)["trends"] for step in trend["steps"]]
    assert len(set(anchors)) == len(anchors) == 18
    sections = re.findall(r'<section class="step" id="([^"]+)">\s*<h3>.*?>([^<]+)</a>', report)
    assert sections
    names = dict(sections)
    for trend in index(night.page)["trends"]:
        for step in trend["steps"]:
            assert names[step["anchor"]] == step["name"]


def test_what_happened_to_machines_is_reported() -> None:
    effects = tuple(
        Effect(control="pinned", step=step, metric="qps", effect=-0.03, low=-0.04, high=-0.02)
        for step in ("scan", "insert", "update", "delete")
    )
    day = date(2026, 3, 28)
    event = EnvironmentEvent(
        kind=MachineEventKind.DRIFT,
        machine_class="ax162-s",
        machine="bench-2",
        since=day,
        earliest=day,
        latest=day,
        cause="slowly",
        effects=effects,
    )
    (reported,) = SiteMachines({}).document([event])["events"]
    assert reported == {
        "since": "2026-03-28",
        "until": "",
        "machine": "ax162-s: bench-2",
        "kind": "drift",
        "cause": "slowly",
        "moved": [f"{step} qps -3.0% (-4.0% to -2.0%)" for step in ("scan", "insert", "update")],
        "more": 1,
    }


def test_equal_binaries_are_compared(night: Made) -> None:
    machines = data(night.page, "machines")
    (machine,) = machines["machines"]
    assert (machine["hostname"], machine["runs"]) == ("bench-1", 96)
    ratios = [ratio for _, ratio, _, _ in machine["points"]]
    assert len(ratios) == 96
    assert all(0.97 < ratio < 1.03 for ratio in ratios)
    controls = machines["controls"]
    assert [(one["of"], one["control"]) for one in controls] == [("17.10", "17.10#2")] * 2
    assert machines["pairs"] == 2
    differ = [abs(one["median"] - 1) for one in controls]
    assert differ == sorted(differ, reverse=True)


def test_a_hostile_name_is_only_text(hostile: Made) -> None:
    text = hostile.page.read_text()
    assert "<img" not in text
    assert text.count("</script>") == 3
    assert index(hostile.page)["trends"][0]["steps"][-1]["group"] == HOSTILE_GROUP
    for path in hostile.page.parent.rglob("*.js"):
        assert not set("<>&") & set(path.read_text())


def test_a_second_site_takes_the_place_of_the_first(night: Made, tmp_path: Path) -> None:
    page = write(night, tmp_path / "site")
    before = index(page)["data"]
    assert write(night, tmp_path / "site", NOW + timedelta(days=1)) == page
    assert index(page)["data"] != before
    assert sorted(path.name for path in page.parent.iterdir()) == sorted(
        ["index.html", "night.html", "sql.html", index(page)["data"]]
    )


def test_a_page_of_somebody_else_is_not_written_over(night: Made, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(
        UserError, match=r"was not written by nightshift; choose another folder with --output"
    ):
        write(night, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


def test_a_full_disk_leaves_the_site_that_was_there(
    night: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = write(night, tmp_path / "site")
    kept = {path: path.read_bytes() for path in page.parent.rglob("*") if path.is_file()}
    whole = Path.write_text

    def full(path: Path, text: str, **options: Any) -> int:
        if path.name == "machines.js":
            raise OSError(28, "No space left on device")
        return whole(path, text, **options)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(
        UserError,
        match=r"\(No space left on device\); correct this and run `nightshift site`",
    ):
        write(night, tmp_path / "site", NOW + timedelta(days=1))
    assert {path: path.read_bytes() for path in page.parent.rglob("*") if path.is_file()} == kept


def test_what_a_killed_writer_left_is_removed_by_the_next(night: Made, tmp_path: Path) -> None:
    page = write(night, tmp_path / "site")
    shutil.copytree(page.parent / index(page)["data"], page.parent / "data-000000000000")
    (page.parent / "data-mine").mkdir()
    write(night, tmp_path / "site", NOW + timedelta(days=1))
    assert sorted(path.name for path in page.parent.iterdir()) == sorted(
        ["index.html", "night.html", "sql.html", index(page)["data"], "data-mine"]
    )


def test_a_store_without_runs_has_a_site(tmp_path: Path) -> None:
    store, plan = make_store(tmp_path, {"minors": MINORS}, left_out=MINORS)
    page = site_page(
        tmp_path / "site", store, plan, Detected(plan=plan.hash, series=0, regressions=()), NOW
    )
    assert index(page)["trends"] == []


def test_a_run_in_which_everything_failed_is_reported(tmp_path: Path) -> None:
    store, plan = make_store(
        tmp_path,
        {"minors": MINORS[:2]},
        fails=lambda step, revision, _: "it crashed" if revision == "17.6" else "",
    )
    (trend,) = Trends(store).of(plan)
    assert len(trend.failures) == 9
    assert np.isnan(trend.medians("qps")[:, 1]).all()
    page = site_page(tmp_path / "site", store, plan, detect_all(store, plan, DetectSection()), NOW)
    groups = index(page)["trends"][0]["groups"]
    assert [group["at"] for group in groups] == [0, 0, 0]


def test_figures_of_a_missed_sla_are_left_out(tmp_path: Path) -> None:
    store, plan = make_store(tmp_path, {"minors": MINORS[:2]}, repetitions=2)
    over_time(store, "scan_range=100", "17.6", 1, status="sla failed", note="50 of 100 inserts/s")
    (trend,) = Trends(store).of(plan)
    (failure,) = trend.failures
    assert (failure.step, failure.note) == ("scan_range=100", "50 of 100 inserts/s")
    run = [head.run_id for head in trend.runs].index(failure.run_id)
    assert math.isnan(trend.values["scan_range=100", "qps"][run])
    assert not math.isnan(trend.values["point-query_range=100", "qps"][run])


def test_times_are_those_of_the_revisions_where_all_have_one(tmp_path: Path) -> None:
    store, plan = make_store(tmp_path, {"minors": MINORS[:2]}, level=level, fails=never)
    (trend,) = Trends(store).of(plan)
    dates, made = trend.dates()
    assert made is False
    assert dates == [
        min(run.started_at for run in trend.runs if run.revision == label) for label in MINORS[:2]
    ]
    at = datetime(2025, 5, 8, tzinfo=UTC)
    (line,) = plan.lines
    dated = line.model_copy(
        update={
            "revisions": tuple(one.model_copy(update={"at": at}) for one in line.revisions),
        }
    )
    (trend,) = Trends(store).of(plan.model_copy(update={"lines": (dated,)}))
    assert trend.dates() == ([at, at], True)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3, 1, 2], 2),
        ([4, 1, 2, 3], 2.5),
        ([math.nan, 5, 1], 3),
        ([math.nan, 7], 7),
        ([math.nan, math.nan], math.nan),
        ([2], 2),
    ],
)
def test_medians_leave_out_what_is_missing(values: list[float], expected: float) -> None:
    found = median(np.array([values], dtype=np.float32))
    assert found.tolist() == pytest.approx([expected], nan_ok=True)
