"""The page in a real browser, which has no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.analyse.detection import detect_all
from pipeline.config import DetectSection, ReportSection
from pipeline.report.page import write_page

from .browser import PROGRAM, Browser, started
from .page_store import make_store
from .test_page import HOSTILE, MINORS, NOW, fails, level

pytestmark = [
    pytest.mark.chromium,
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


def press(browser: Browser, key: str, code: int, text: str = "") -> None:
    for kind in ("keyDown", "keyUp"):
        browser.send(
            "Input.dispatchKeyEvent",
            type=kind,
            key=key,
            code=key,
            text=text,
            windowsVirtualKeyCode=code,
        )


def test_runs_over_time_are_reached_by_keyboard(browser: Browser, page: Path) -> None:
    browser.open(page)
    scroll_to_chart(browser)
    row = f"""{SECTION}.querySelector('button[data-position="4"]')"""
    within = f"{SECTION}.querySelector('.within')"
    browser.run(f"{row}.focus()")
    press(browser, "Enter", 13, "\r")
    assert browser.run(f"{within}.hidden") is False
    text = browser.run(f"{within}.textContent")
    assert "17.9: over time" in text
    assert "one report a run: nothing can be seen within it" in text
    assert f"Repetition 2 failed: {HOSTILE}" in text
    press(browser, "Escape", 27)
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
