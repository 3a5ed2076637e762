"""The page in a real browser, which has no network."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.config import DetectSection
from pipeline.regressions.detect import detect_all
from pipeline.site.format import MINUS
from tests.site.browser import PROGRAM, Browser, drawn_pixels, started
from tests.site.page_store import make_store, over_time
from tests.site.pages import report_page
from tests.site.test_page import HOSTILE, MINORS, NOW, fails, level

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
    return report_page(folder / "report.html", store, plan, detected, NOW)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with started(tmp_path_factory.mktemp("profile")) as running:
        yield running


def scroll_to_chart(browser: Browser) -> None:
    browser.run(f"{SECTION}.scrollIntoView()")
    browser.until(f"Boolean({SECTION}.querySelector('.u-over'))")


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
    drawn = "document.querySelectorAll('.u-over').length"
    sections = browser.run("document.querySelectorAll('section.step').length")
    assert sections == 6
    assert browser.run(drawn) < sections
    scroll_to_chart(browser)


def test_change_points_and_failures_are_on_the_chart(browser: Browser, page: Path) -> None:
    browser.open(page)
    scroll_to_chart(browser)
    label = browser.run(f"{SECTION}.querySelector('.plot').ariaLabel")
    assert re.search(rf"1 change point ▼ {MINUS}1\d\.\d % at 17\.8\.", label)
    shows = f"{SECTION}.querySelector('.plot').shows"
    assert browser.run(f"{shows}.rules.map((rule) => rule.x)") == [2.5]
    assert browser.run(f"{shows}.shades.map(({{ from, until }}) => [from, until])") == [[2.2, 2.8]]
    assert browser.run(f"{shows}.marks.map(({{ sign }}) => sign)") == ["✕"]
    for colour in ("--worse", "--failed", "--ink"):
        assert drawn_pixels(browser, f"{SECTION}.querySelector('canvas')", colour) > 10, colour


def test_axis_says_where_it_starts_and_can_start_at_zero(browser: Browser, page: Path) -> None:
    browser.open(page)
    scroll_to_chart(browser)
    said = f"{SECTION}.querySelector('.axis').textContent"
    low = f"{SECTION}.querySelector('.plot').uplot.scales.y.min"
    assert "not zero" in browser.run(said)
    assert browser.run(low) > 0
    browser.run(f"{SECTION}.querySelector('.zoom').click()")
    browser.until(f"Boolean({SECTION}.querySelector('.plot').uplot)")
    assert "from zero" in browser.run(said)
    assert browser.run(low) == 0


def test_a_column_head_charts_its_metric(browser: Browser, page: Path) -> None:
    browser.open(page)
    scroll_to_chart(browser)
    head = f"""{SECTION}.querySelector('button[data-metric="cpu_us/o"]')"""
    browser.run(f"{head}.click()")
    assert browser.run(f"{head}.getAttribute('aria-pressed')") == "true"
    assert browser.run(f"{SECTION}.querySelector('figcaption').textContent") == "cpu_us/o, us"


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
    assert "each run has only one report, so nothing is shown over time" in text
    assert f"Repetition 2 failed: {HOSTILE}" in text
    browser.press("Escape", 27)
    assert browser.run(f"{within}.hidden") is True
    assert browser.run(f"document.activeElement === {row}")


def test_a_click_on_a_dot_shows_that_run(browser: Browser, page: Path) -> None:
    browser.open(page, height=900)
    scroll_to_chart(browser)
    box = browser.run(
        f"(() => {{ const {{ uplot, shows }} = {SECTION}.querySelector('.plot');"
        " const { left, top } = uplot.over.getBoundingClientRect();"
        " return [left + uplot.valToPos(shows.dots[1].x, 'x'),"
        " top + uplot.valToPos(shows.dots[1].y, 'y')]; })()"
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
    return report_page(folder / "report.html", store, plan, detected, NOW)


def scroll_to(browser: Browser, section: str) -> None:
    browser.run(f"{section}.scrollIntoView()")
    browser.until(f"Boolean({section}.querySelector('.u-over'))")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_activity_stands_under_throughput_on_one_time_axis(
    browser: Browser, over_time_page: Path, width: int, dark: bool
) -> None:
    browser.open(over_time_page, width=width, dark=dark)
    scroll_to(browser, OTHER)
    browser.run(f"{OTHER}.querySelector('.over-time').click()")
    plots = f"[...{OTHER}.querySelectorAll('.within .plots .plot')]"
    plot = f"{plots}[0]"
    browser.run(f"{plots}.at(-1).scrollIntoView({{ block: 'end' }})")
    browser.until(f"{plots}.every(({{ uplot }}) => uplot?.scales.x.max > 0)")
    axes = browser.run(
        f"[...new Set({plots}.map(({{ uplot: {{ scales, over }} }}) =>"
        " [scales.x.min, scales.x.max, over.offsetLeft, over.clientWidth].join()))]"
    )
    assert len(axes) == 1 and axes[0].startswith("0,1224,")
    assert browser.run(f"{plots}.length") == 1 + 6
    says = browser.run(f"{OTHER}.querySelector('.says').textContent")
    assert "Shaded: stalls" in says
    assert "drifts by \u22128 % through the step" in says
    assert "peak" not in says, "level stretches were left out, and no more"
    reported = browser.run(f"{plot}.shows.describe({plot}.shows.x.indexOf(599), 0)").split("\n")
    assert reported[0] == "599.0 s"
    assert reported[1] == "4\u202f000 queries/s"
    assert len(reported[2:]) == 6
    field, _, value = reported[2].partition(": ")
    assert field == "autovacuum workers"
    # At 599 s, where the throughput's first level ends.
    wave = 1e6 * (1 + math.sin(599 / 50))
    assert float(value.replace("\u202f", "")) == pytest.approx(wave, rel=0.01)
    shades = browser.run(f"{plot}.shows.shades.map(({{ from, until }}) => [from, until])")
    assert shades == [[599, 619]]
    assert drawn_pixels(browser, f"{plot}.querySelector('canvas')", "--series-2") > 100
    panel = f"{OTHER}.querySelector('.within')"
    assert "autovacuum workers" in browser.run(f"{panel}.textContent")
    browser.run(f"{OTHER}.querySelector('.more').focus()")
    browser.press("Enter", 13, "\r")
    browser.until(f"{panel}.textContent.includes('<b>new</b>')")
    assert browser.run(f"{panel}.querySelectorAll('.plots b').length") == 0
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
    plot = f"{OTHER}.querySelector('.within .plots .plot')"
    pressed = (
        f"[...{OTHER}.querySelectorAll('.within .revision[aria-pressed=true]')]"
        ".map((button) => button.textContent)"
    )
    runs = f"{plot}.shows.lines.length"
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
    browser.until(f"Boolean({OTHER}.querySelector('.responses .u-over'))")
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
    plot = f"{OTHER}.querySelector('.responses .plot')"
    assert browser.run(f"{plot}.shows.x") == [0.2, 3, 900]
    assert browser.run(f"{plot}.uplot.data[1]") == [0.1, 0.01, None]
    assert browser.run(f"[{plot}.uplot.scales.x.distr, {plot}.uplot.scales.y.distr]") == [3, 3]
    browser.run(f"{plot}.focus()")
    browser.press("Home", 36)
    said = browser.run("document.getElementById('said').textContent")
    assert "17.7: 10 % took longer than 200 µs" in said


def test_a_scale_up_is_charted_for_every_step(browser: Browser, over_time_page: Path) -> None:
    browser.open(over_time_page)
    scroll_to(browser, SCALE_UP)
    plot = f"{SCALE_UP}.querySelector('.plot')"
    shown = f"{plot}.shows.lines.map(({{ values }}) => values)"
    assert browser.run(f"{plot}.shows.x") == [1, 4]
    perfect, *lines = browser.run(shown)
    assert perfect == [1, 4]
    assert [line[0] for line in lines] == [1, 1]
    browser.run(f"{SCALE_UP}.querySelectorAll('.revision')[1].click()")
    assert len(browser.run(shown)) == 1 + 3
    select = f"{SCALE_UP}.querySelector('select')"
    browser.run(f"{select}.value = 'scan_range=100', {select}.dispatchEvent(new Event('change'))")
    label = browser.run(f"{plot}.ariaLabel")
    assert label.startswith("scan_range=100: throughput with 1, 4 clients relative to 1")
    assert browser.complaints() == []
