"""The page as text: what it says of known measurements, and what it never lets through."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from pipeline.config import DetectSection, ReportSection
from pipeline.measure.plan import Plan
from pipeline.model import RegressionState
from pipeline.regressions.detect import detect_all
from pipeline.regressions.detected import Detected, NightQuality
from pipeline.site.night import read_night, write_page
from pipeline.site.night.summary import sentence
from pipeline.text.errors import UserError

from .page_store import make_store
from .pages import report_page

NOW = datetime(2026, 3, 2, 5, 30, tzinfo=UTC)
HOSTILE = '</script><script>alert(1)</script> & <img src="http://evil.example/x">'
MINORS = ("17.5", "17.6", "17.7", "17.8", "17.9", "17.10")


def level(step: str, position: int, metric: str) -> float:
    """From 17.8 on scans are a seventh slower; from 17.7 on point queries take less time."""
    if step.startswith("scan") and position >= 3:
        return {"qps": 0.86, "cpu_us/o": 1.16}.get(metric, 1.0)
    if step.startswith("point") and position >= 2:
        return {"qps": 1.2}.get(metric, 1.0)
    return 1.0


def fails(step: str, revision: str, repetition: int) -> str:
    if step.startswith("update") and revision == "17.7":
        return HOSTILE
    return HOSTILE if step.startswith("scan") and (revision, repetition) == ("17.9", 2) else ""


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> tuple[Engine, Plan, Detected]:
    store, plan = make_store(
        tmp_path_factory.mktemp("night"),
        {"minors": MINORS, "control": ("17.9", "17.10", "17.10#2"), "later": ("17.10", "18.1")},
        level=level,
        fails=fails,
        left_out=("18.1",),
        kernels={"17.6": "6.1.0-22"},
        seconds=3,
    )
    return store, plan, detect_all(store, plan, DetectSection())


@pytest.fixture(scope="module")
def page(night: tuple[Engine, Plan, Detected], tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "new folder" / "report.html"
    written = report_page(path, *night, NOW)
    assert written == path
    assert [each.name for each in path.parent.iterdir()] == ["report.html"]
    return path.read_text(encoding="utf-8")


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text of tables by row."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self._cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        self._cell = tag in {"td", "th"} or (self._cell and tag not in {"tr", "script"})
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._cell = self._cell and tag not in {"td", "th"}

    def handle_data(self, data: str) -> None:
        if self._cell and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data

    def ids(self) -> list[str]:
        return [value for _, attrs in self.found if (value := attrs.get("id"))]


@pytest.fixture(scope="module")
def elements(page: str) -> Elements:
    return Elements(page)


def row_of(elements: Elements, *beginning: str) -> list[str]:
    rows = [row for row in elements.rows if row[: len(beginning)] == list(beginning)]
    assert rows, f"no row begins with {beginning}"
    return rows[0]


def document(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="index">(.*?)</script>', page, re.DOTALL)
    assert found
    loaded: dict[str, object] = json.loads(found[1])
    return loaded


def test_refers_to_nothing_outside_itself(elements: Elements) -> None:
    for tag, attributes in elements.found:
        assert tag not in {"link", "iframe", "img", "object", "embed", "base"}
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            value = attributes.get(name)
            assert value is None or value.startswith("#"), f"<{tag} {name}={value}>"


def test_forbids_itself_any_network(elements: Elements) -> None:
    policies = [
        attributes["content"] or ""
        for tag, attributes in elements.found
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert len(policies) == 1
    assert "default-src 'none'" in policies[0]
    scripts = re.search(r"script-src ([^;]*)", policies[0])
    assert scripts
    assert all(word.startswith("'sha256-") for word in scripts[1].split())


def test_carries_the_chart_library_once(page: str) -> None:
    assert page.count("https://github.com/leeoniya/uPlot (v") == 1


def test_shows_hostile_values_as_text(page: str, elements: Elements) -> None:
    scripts = [attrs for tag, attrs in elements.found if tag == "script"]
    assert len(scripts) == 3
    assert "<img" not in page.split("<script", maxsplit=1)[0]
    assert any(HOSTILE in cell for row in elements.rows for cell in row)
    charts = document(page)["charts"]
    assert isinstance(charts, list)
    assert any(HOSTILE in str(chart["failed"]) for chart in charts)


def test_every_link_leads_to_one_place(elements: Elements) -> None:
    ids = elements.ids()
    assert len(ids) == len(set(ids))
    for tag, attributes in elements.found:
        if tag == "a":
            assert (attributes["href"] or "")[1:] in ids


def test_names_the_regression_and_how_sure_it_is(page: str, elements: Elements) -> None:
    assert "nothing confirmed by a second measurement yet" in page
    row = row_of(elements, "scan_range=100", "qps")
    assert re.fullmatch(r"▼\u22121[345]\.\d %", row[5])
    assert row[8] == "17.8"
    assert re.search(r'<span class="range">17\.7 → 17\.8</span>', page)


def test_worst_regression_stands_before_improvements(page: str) -> None:
    worse, better = page.index("Regressions, worst first"), page.index("<h2>Improvements</h2>")
    assert worse < page.index("17.7 → 17.8") < better < page.index("17.6 → 17.7")


def test_relative_table_divides_medians_by_the_first_revision(elements: Elements) -> None:
    row = row_of(elements, "scan_range=100")
    table = [row for row in elements.rows if row[0] == "scan_range=100" and len(row) == 7]
    ratios = [cell.strip("▼▲✕") for cell in table[0][2:]]
    assert [float(ratio) for ratio in ratios] == pytest.approx(
        [1.0, 1.0, 0.86, 0.86, 0.86], abs=0.02
    )
    assert [cell[0] for cell in table[0][4:]] == ["▼", "▼", "▼"], row


def test_failed_steps_are_shown_and_have_no_figure(page: str, elements: Elements) -> None:
    table = [row for row in elements.rows if row[0] == "update-index_range=100" and len(row) == 7]
    assert table[0][3] == "failed"
    revision = [row for row in elements.rows if row[0] == "17.7" and "failed" in row]
    assert revision[0][1] == "0✕"
    # Three repetitions of one step, one of another; lines that share runs count them once.
    assert "4 measurements failed, in 2 steps" in page
    assert "1 of 3 failed" in page


def test_says_what_is_not_measured_yet(page: str) -> None:
    assert "3 of 24 planned runs are not in the store yet." in page
    assert "Not measured yet: 18.1." in page


def test_charts_hold_every_value_and_the_change_points(page: str) -> None:
    charts = document(page)["charts"]
    assert isinstance(charts, list)
    chart = next(c for c in charts if c["id"] == "minors--scan_range-100")
    assert len(chart["points"]) == len(MINORS) * 3 - 1
    assert len(chart["values"]["qps"]) == len(chart["points"])
    assert len(chart["medians"]["qps"]) == len(MINORS)
    changes = [change for change in chart["changes"] if change["metric"] == "qps"]
    assert [(change["at"], change["after"], change["worse"]) for change in changes] == [
        (3, 2, True)
    ]


def test_lines_share_the_throughput_of_the_runs_they_share(page: str) -> None:
    whole = document(page)
    timelines = whole["timelines"]
    assert isinstance(timelines, list)
    # 7 measured revisions, 3 repetitions, 3 steps, less 4 failures.
    assert len(timelines) == 7 * 3 * 3 - 4
    assert all(one["t"] == [1, 2, 3] and one["reports"] == 3 for one in timelines)
    assert not any(one["thinned"] for one in timelines)
    assert all(one["stalls"] == [] for one in timelines), "three seconds say nothing of stalls"


def test_equal_programs_are_called_a_control(elements: Elements) -> None:
    assert row_of(elements, "postgres 17.10#2")[-1] == "= 17.10 (control)"
    assert row_of(elements, "postgres 17.5")[-1] == ""


def test_a_changed_machine_is_marked(page: str, elements: Elements) -> None:
    assert "2 machines or states of a machine" in page
    assert row_of(elements, "≠ kernel")[1:] == ["6.1.0-18-amd64", "6.1.0-22"]


def test_without_measurements_there_is_still_a_page(tmp_path: Path) -> None:
    store, plan = make_store(tmp_path, {"one": ("17.5",)}, left_out=("17.5",))
    path = report_page(
        tmp_path / "report.html",
        store,
        plan,
        Detected(plan="", series=0, regressions=()),
        NOW,
        {cell.key: "the build of postgres 17.5 failed: <x.c>:1: error" for cell in plan.cells},
    )
    text = path.read_text(encoding="utf-8")
    assert "Detection has not run yet." in text
    assert "This line has not been measured yet." in text
    assert "17.5: the build of postgres 17.5 failed: &lt;x.c&gt;:1: error" in text
    assert "Not measured yet" not in text


def test_a_changepoint_of_a_line_that_is_gone_is_still_reported(
    night: tuple[Engine, Plan, Detected], tmp_path: Path
) -> None:
    store, plan, detected = night
    gone = plan.model_copy(update={"lines": plan.lines[2:]})
    text = report_page(tmp_path / "r.html", store, gone, detected, NOW).read_text()
    assert "17.7 → 17.8" in text
    parsed = Elements(text)
    assert "minors--scan_range-100" not in parsed.ids()
    assert ("a", {"href": "#minors--scan_range-100"}) not in parsed.found


def test_asks_the_store_no_more_for_more_runs(tmp_path: Path) -> None:
    asked: dict[int, int] = {}
    for repetitions in (1, 4):
        store, plan = make_store(
            tmp_path / str(repetitions), {"one": ("17.5", "17.6")}, repetitions=repetitions
        )
        statements: list[str] = []
        event.listen(
            store, "before_cursor_execute", lambda *args, kept=statements: kept.append(args[2])
        )
        report_page(
            tmp_path / "r.html", store, plan, Detected(plan="", series=0, regressions=()), NOW
        )
        asked[repetitions] = len(statements)
    assert asked[1] == asked[4]


def test_a_night_that_was_read_is_written_without_the_store(
    night: tuple[Engine, Plan, Detected], tmp_path: Path
) -> None:
    store, plan, detected = night
    report = read_night(store, plan, detected, ReportSection(), {})
    statements: list[str] = []
    event.listen(store, "before_cursor_execute", lambda *args: statements.append(args[2]))
    whole = write_page(tmp_path / "r.html", report, detected, NOW).read_text(encoding="utf-8")
    assert statements == []
    # The states are those of the moment of writing, not of reading.
    one, *others = detected.regressions
    known = one.model_copy(update={"state": RegressionState.ACKNOWLEDGED})
    later = detected.model_copy(update={"regressions": (known, *others)})
    again = write_page(tmp_path / "r.html", report, later, NOW).read_text(encoding="utf-8")
    assert "acknowledged" in again
    assert "acknowledged" not in whole


def test_pages_of_a_night_that_was_read_once_equal_those_of_their_own(
    night: tuple[Engine, Plan, Detected], tmp_path: Path
) -> None:
    """The lines are drawn once for equal regressions, and again for others and other states."""
    store, plan, detected = night
    one, *others = detected.regressions
    known = one.model_copy(update={"state": RegressionState.CONFIRMED})
    report = read_night(store, plan, detected, ReportSection(), {})
    texts = set()
    for regressions in (
        detected.regressions,
        tuple(others),
        (known, *others),
        (),
        detected.regressions,
    ):
        shown = detected.model_copy(update={"regressions": regressions})
        text = write_page(tmp_path / "r.html", report, shown, NOW).read_text(encoding="utf-8")
        fresh = report_page(tmp_path / "fresh.html", store, plan, shown, NOW)
        assert text == fresh.read_text(encoding="utf-8")
        texts.add(text)
    assert len(texts) == 4
    drawn = report.drawn[0]
    later = write_page(tmp_path / "r.html", report, detected, NOW + timedelta(days=1))
    assert report.drawn[0] is drawn
    assert later.read_text(encoding="utf-8") not in texts


def test_a_page_that_cannot_be_written_is_one_line(
    night: tuple[Engine, Plan, Detected], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written") as raised:
        report_page(tmp_path / "file" / "r.html", *night, NOW)
    assert "\n" not in str(raised.value)


def test_an_old_page_stays_when_the_new_one_cannot_be_made(
    night: tuple[Engine, Plan, Detected], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("the old one")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)  # Of the new one, once its text is there.
    with pytest.raises(UserError, match="No space left"):
        report_page(path, *night, NOW)
    monkeypatch.undo()
    assert path.read_text() == "the old one"
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_the_sentence_counts_by_state(night: tuple[Engine, Plan, Detected]) -> None:
    _, _, detected = night
    worse = next(r for r in detected.regressions if r.worse)
    better = next(r for r in detected.regressions if not r.worse)
    confirmed = worse.model_copy(update={"state": RegressionState.CONFIRMED})
    assert (
        sentence(Detected(plan="", series=1, regressions=())) == "No change was found in 1 series."
    )
    noisy = Detected(
        plan="",
        series=42,
        regressions=(),
        smallest=0.31,
        night=NightQuality(runs=42, disturbed=38),
    )
    assert sentence(noisy) == (
        "No change was found in 42 series; 38 of 42 runs disturbed; smallest change this night "
        "could show: 31.0 % (median step)."
    )
    assert sentence(Detected(plan="", series=42, regressions=(worse, worse, better))) == (
        "2 suspected regressions, 1 improvement in 42 series; "
        "nothing confirmed by a second measurement yet."
    )
    assert sentence(Detected(plan="", series=42, regressions=(confirmed, worse))) == (
        "1 suspected regression, 1 confirmed regression in 42 series."
    )
    resolved = worse.model_copy(update={"state": RegressionState.RESOLVED})
    recovery = better.model_copy(update={"recovers": resolved.fingerprint})
    assert sentence(Detected(plan="", series=42, regressions=(resolved, recovery))) == (
        "1 resolved regression, 1 improvement in 42 series."
    )
    rejected = worse.model_copy(update={"state": RegressionState.REJECTED})
    assert sentence(Detected(plan="", series=42, regressions=(rejected,))) == (
        "1 rejected regression in 42 series."
    )
    assert sentence(Detected(plan="", series=42, regressions=(better,))) == (
        "No regression, 1 improvement in 42 series; nothing confirmed by a second measurement yet."
    )
