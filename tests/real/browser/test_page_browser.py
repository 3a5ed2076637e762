"""The page in a real browser, which has no network."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.analyse.detection import detect_all
from pipeline.config import DetectSection, ReportSection
from pipeline.report.page import write_page
from tests.report.browser import PROGRAM, Browser, started
from tests.report.page_store import make_store, over_time
from tests.report.test_page import HOSTILE, MINORS, NOW, fails, level

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed"),
]

STEP = "minors--scan_range-100"
SECTION = f"document.getElementById('{STEP}')"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("night")
    long_names = tuple(f"19.2026020{day}" for day in range(1, 8))
    store, plan = make_store(
        folder,
        {"minors": MINORS, "a-branch-with-a-long-name": long_names},
        level=level,
        fails=fails,
        seconds=1,
    )
    detected = detect_all(store, plan, DetectSection())
    return write_page(folder / "report.html", store, plan, detected, ReportSection(), {}, NOW)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with started(tmp_path_factory.mktemp("profile")) as running:
        yield running


def scroll_to_chart(browser: Browser) -> None:
    browser.run(f"{SECTION}.scrollIntoView()")
    browser.until(f"{SECTION}.querySelector('.chart .main-svg')")


@pytest.mark.parametrize("width", [1400, 800, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_opens_without_complaint_network_or_overflow(
    browser: Browser, page: Path, width: int, dark: bool
) -> None:
    browser.open(page, width=width, dark=dark)
    scroll_to_chart(browser)
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    background = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") is not dark


def test_charts_are_drawn_only_when_they_come_into_view(browser: Browser, page: Path) -> None:
    browser.open(page)
    drawn = "document.querySelectorAll('.chart .main-svg').length"
    sections = browser.run("document.querySelectorAll('section.step').length")
    assert sections == 6
    assert browser.run(drawn) < sections
    scroll_to_chart(browser)


def test_change_points_and_failures_are_on_the_chart(browser: Browser, page: Path) -> None:
    browser.open(page)
    scroll_to_chart(browser)
    text = browser.run(f"{SECTION}.querySelector('.chart').textContent")
    assert "▼" in text
    assert "17.8" in text
    crosses = browser.run(f"{SECTION}.querySelector('.chart').data[2].x.length")
    assert crosses == 1


def test_axis_says_where_it_starts_and_can_start_at_zero(browser: Browser, page: Path) -> None:
    browser.open(page)
    scroll_to_chart(browser)
    said = f"{SECTION}.querySelector('.axis').textContent"
    low = f"{SECTION}.querySelector('.chart').layout.yaxis.range[0]"
    assert "not zero" in browser.run(said)
    assert browser.run(low) > 0
    browser.run(f"{SECTION}.querySelector('.zoom').click()")
    assert "from zero" in browser.run(said)
    assert browser.run(low) == 0


def test_a_column_head_charts_its_metric(browser: Browser, page: Path) -> None:
    browser.open(page)
    scroll_to_chart(browser)
    head = f"""{SECTION}.querySelector('button[data-metric="cpu_us/o"]')"""
    browser.run(f"{head}.click()")
    assert browser.run(f"{head}.getAttribute('aria-pressed')") == "true"
    assert "cpu_us/o" in browser.run(f"{SECTION}.querySelector('.chart').layout.yaxis.title.text")


def test_runs_over_time_are_reached_by_keyboard(browser: Browser, page: Path) -> None:
    browser.open(page)
    scroll_to_chart(browser)
    row = f"""{SECTION}.querySelector('button[data-position="4"]')"""
    within = f"{SECTION}.querySelector('.within')"
    browser.run(f"{row}.focus()")
    browser.press("Enter", 13, "\r")
    assert browser.run(f"{within}.hidden") is False
    text = browser.run(f"{within}.textContent")
    assert "17.9: over time" in text
    assert "one report a run: nothing can be seen within it" in text
    assert f"Repetition 2 failed: {HOSTILE}" in text
    browser.press("Escape", 27)
    assert browser.run(f"{within}.hidden") is True
    assert browser.run(f"document.activeElement === {row}")


def test_a_click_on_a_dot_shows_that_run(browser: Browser, page: Path) -> None:
    browser.open(page, height=900)
    scroll_to_chart(browser)
    browser.until(f"{SECTION}.querySelectorAll('.chart .point').length > 3")
    box = browser.run(
        f"(() => {{ const r = {SECTION}.querySelectorAll('.chart .point')[1]"
        ".getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
    )
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        browser.send(
            "Input.dispatchMouseEvent",
            type=kind,
            x=box[0],
            y=box[1],
            button="none" if kind == "mouseMoved" else "left",
            clickCount=1,
        )
    browser.until(f"!{SECTION}.querySelector('.within').hidden")
    text = browser.run(f"{SECTION}.querySelector('.within').textContent")
    assert "17.5: over time" in text
    pressed = f"""{SECTION}.querySelector('.repetition[aria-pressed="true"]').textContent"""
    assert browser.run(pressed) == "repetition 2"


OTHER = "document.getElementById('line--update-index_range-100')"
SCALE_UP = "document.getElementById('line--scale-up--cached')"


@pytest.fixture(scope="module")
def over_time_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty minutes with a stall and seven fields that move, with 1 and with 4 clients."""
    folder = tmp_path_factory.mktemp("long")
    store, plan = make_store(
        folder, {"line": ("17.5", "17.6", "17.7")}, repetitions=2, clients=(1, 4)
    )
    seconds = range(1, 1201)
    waves = [[at, 1e6 * (1 + math.sin(at / 50))] for at in seconds]
    fields = (
        *("autovacuum_workers", "dead_tuples", "wal_bytes/s", "checkpoint_pages/s"),
        *("backend_pages/s", "temp_bytes/s", "<b>new</b>"),
    )
    for revision in ("17.5", "17.6", "17.7"):
        for repetition in (1, 2):
            over_time(
                store,
                "update-index_range=100",
                revision,
                repetition,
                timeline=[[at, 5.0 if 600 <= at < 620 else 4000.0, 0.2] for at in seconds],
                activity=dict.fromkeys(fields, waves),
                histogram=[[0.2, 900], [3.0, 90], [900.0, 10]],
                marks=["drifts by \u22128 % through the step"] if revision == "17.7" else [],
            )
    detected = detect_all(store, plan, DetectSection())
    return write_page(folder / "report.html", store, plan, detected, ReportSection(), {}, NOW)


def scroll_to(browser: Browser, section: str) -> None:
    browser.run(f"{section}.scrollIntoView()")
    browser.until(f"{section}.querySelector('.chart .main-svg')")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_activity_stands_under_throughput_on_one_time_axis(
    browser: Browser, over_time_page: Path, width: int, dark: bool
) -> None:
    browser.open(over_time_page, width=width, dark=dark)
    scroll_to(browser, OTHER)
    browser.run(f"{OTHER}.querySelector('.over-time').click()")
    plot = f"{OTHER}.querySelector('.within .plot')"
    browser.until(f"{plot}.querySelectorAll('.yaxislayer-above, .ytick').length > 0")
    axes = browser.run(f"[...new Set({plot}.data.map((trace) => trace.xaxis || 'x'))]")
    assert axes == ["x"]
    rows = browser.run(f"[...new Set({plot}.data.map((trace) => trace.yaxis))].length")
    assert rows == 1 + 6
    says = browser.run(f"{OTHER}.querySelector('.says').textContent")
    assert "Shaded: stalls" in says
    assert "drifts by \u22128 % through the step" in says
    assert "peak" not in says, "level stretches were left out, and no more"
    others = f"{plot}.data.filter((trace) => trace.text && trace.yaxis !== 'y')"
    told = browser.run(f"{others}.map((trace) => trace.text[1])")
    assert len(told) == 6
    field, _, value = told[0].partition(": ")
    assert field == "autovacuum workers"
    # At 599 s, where the throughput's first level ends.
    wave = 1e6 * (1 + math.sin(599 / 50))
    assert float(value.replace("\u202f", "")) == pytest.approx(wave, rel=0.01)
    shapes = browser.run(f"{plot}.layout.shapes.map((shape) => [shape.x0, shape.x1])")
    assert shapes == [[599, 619]]
    assert "autovacuum workers" in browser.run(f"{plot}.textContent")
    browser.run(f"{OTHER}.querySelector('.more').focus()")
    browser.press("Enter", 13, "\r")
    browser.until(f"{plot}.textContent.includes('<b>new</b>')")
    assert browser.run(f"document.activeElement === {OTHER}.querySelector('.more')")
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    assert browser.complaints() == []


def test_revisions_are_laid_side_by_side_by_keyboard(
    browser: Browser, over_time_page: Path
) -> None:
    browser.open(over_time_page)
    scroll_to(browser, OTHER)
    browser.run(f"{OTHER}.querySelector('.over-time').focus()")
    browser.press("Enter", 13, "\r")
    plot = f"{OTHER}.querySelector('.within .plot')"
    pressed = (
        f"[...{OTHER}.querySelectorAll('.within .revision[aria-pressed=true]')]"
        ".map((button) => button.textContent)"
    )
    runs = f"{plot}.data.filter((trace) => trace.yaxis === 'y').length"
    assert browser.run(pressed) == ["17.5", "17.7"]
    assert browser.run(runs) == 4
    middle = f"{OTHER}.querySelectorAll('.within .revision')[1]"
    browser.run(f"{middle}.focus()")
    browser.press("Enter", 13, "\r")
    assert browser.run(pressed) == ["17.5", "17.6", "17.7"]
    assert browser.run(runs) == 6
    assert "17.6: over time" in browser.run(f"{OTHER}.querySelector('.within').textContent")
    assert browser.run(f"document.activeElement === {middle}")
    heads = browser.run(
        f"[...{OTHER}.querySelectorAll('.buckets thead th')].map((head) => head.textContent)"
    )
    assert heads == ["up to", "17.5", "17.6", "17.7"]
    browser.press("Escape", 27)
    assert browser.run(f"{OTHER}.querySelector('.within').hidden") is True
    assert browser.complaints() == []


def test_response_times_are_a_curve_and_a_table(browser: Browser, over_time_page: Path) -> None:
    browser.open(over_time_page)
    scroll_to(browser, OTHER)
    browser.run(f"{OTHER}.querySelector('.over-time').click()")
    browser.until(f"{OTHER}.querySelector('.responses .main-svg')")
    rows = browser.run(
        f"[...{OTHER}.querySelectorAll('.buckets tbody tr')]"
        ".map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    assert rows == [
        ["256 µs", "90 %", "90 %"],
        ["4 ms", "9 %", "9 %"],
        ["1 s", "1 %", "1 %"],
        ["longest", "900 ms", "900 ms"],
    ]
    slower = browser.run(f"{OTHER}.querySelector('.responses .plot').data[0].y")
    assert slower == [0.1, 0.01, None]


def test_a_scale_up_is_charted_for_every_step(browser: Browser, over_time_page: Path) -> None:
    browser.open(over_time_page)
    scroll_to(browser, SCALE_UP)
    names = f"{SCALE_UP}.querySelector('.chart').data.slice(1).map((trace) => trace.x)"
    assert browser.run(names) == [[1, 4], [1, 4]]
    browser.run(f"{SCALE_UP}.querySelectorAll('.revision')[1].click()")
    assert len(browser.run(names)) == 3
    select = f"{SCALE_UP}.querySelector('select')"
    browser.run(f"{select}.value = 'scan_range=100', {select}.dispatchEvent(new Event('change'))")
    label = browser.run(f"{SCALE_UP}.querySelector('.chart').getAttribute('aria-label')")
    assert label == "scan_range=100: throughput with 1, 4 clients relative to 1"
    assert browser.complaints() == []
