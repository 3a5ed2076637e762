"""The site in a real browser, which has no network: opened, clicked through, walked by keyboard."""

from __future__ import annotations

import base64
import re
import shutil
from pathlib import Path

import pytest

from benchmarks.site import fill, make_plan
from pipeline.regressions.detected import Detected
from pipeline.site.format import MINUS
from pipeline.storage.database import open_store
from tests.site.browser import PROGRAM, Browser, drawn_pixels
from tests.site.conftest import HOSTILE, HOSTILE_GROUP, Made
from tests.site.pages import site_page
from tests.site.test_page import HOSTILE as HOSTILE_NOTE
from tests.site.test_page import NOW

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed"),
]

VIEWS = ("overview", "trend", "step", "compare", "insert", "machines")
MINORS = "minors--cached--1c--x10a--official--test-c2r4"
SHOWN = "performance.getEntriesByName('nightshift-shown').length > 0"
IN_SIGHT = """[...document.querySelectorAll('.chart > .plot')]
  .filter((plot) => plot.getBoundingClientRect().top < innerHeight)"""
FIRST = "document.querySelector('.panels canvas')"
SAID = "document.getElementById('said').textContent"


def go(browser: Browser, address: str) -> None:
    """Show a view, and wait until its charts in sight are drawn."""
    browser.run(f"performance.clearMarks('nightshift-shown'); location.hash = {address!r}; 0")
    browser.until(SHOWN)
    browser.until(f"{IN_SIGHT}.every(({{ seen }}) => seen)")


def visit(
    browser: Browser, page: Path, address: str, *, width: int = 1400, dark: bool = False
) -> None:
    browser.open(page, width=width, height=900, dark=dark)
    browser.until(SHOWN)
    if address != "#overview":
        go(browser, address)


def text(browser: Browser, selector: str) -> str:
    return str(browser.run(f"document.querySelector({selector!r}).textContent"))


def cells(browser: Browser, table: str) -> list[list[str]]:
    rows = f"document.querySelectorAll({f'{table} tbody tr:not(.gap)'!r})"
    found: list[list[str]] = browser.run(
        f"[...{rows}].map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    return found


def choose(browser: Browser, control: str, value: str) -> None:
    """Choose a value of a control, with the focus in it."""
    browser.run(
        f"""(() => {{
          performance.clearMarks('nightshift-shown');
          const control = document.getElementById({control!r});
          control.focus();
          control.value = {value!r};
          control.dispatchEvent(new Event('change'));
        }})()"""
    )


def change(browser: Browser, control: str, value: str) -> None:
    """Choose a value of a control and wait for what it shows."""
    choose(browser, control, value)
    browser.until(SHOWN)


CAPTIONS_FIT = (
    "[...document.querySelectorAll('caption')].every((one) =>"
    " getComputedStyle(one).clipPath !== 'none'"
    " || one.getBoundingClientRect().right <= innerWidth)"
)
"""Whether every caption that is shown is read without scrolling."""


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (1400, True), (400, False)])
def test_every_view_opens_without_complaint_network_or_overflow(
    browser: Browser, night: Made, inserts: Made, width: int, dark: bool
) -> None:
    for made in (night, inserts):
        visit(browser, made.page, "#overview", width=width, dark=dark)
        for view in VIEWS:
            go(browser, f"#{view}")
            assert browser.run("document.documentElement.scrollWidth <= innerWidth"), view
            assert browser.run(CAPTIONS_FIT), view
            assert browser.run("document.querySelectorAll('h1').length") == 1
        assert browser.complaints() == []
        root = made.page.parent.as_uri()
        assert [one for one in browser.requests() if not one.startswith(root)] == []
        background = browser.run("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(255, 255, 255)") is not dark


def test_the_overview_says_what_needs_a_look_and_leads_there(browser: Browser, night: Made) -> None:
    visit(browser, night.page, "#overview")
    worse = [one for one in night.detected.regressions if one.worse]
    assert text(browser, "h1") == f"{len(worse)} regressions need a look"
    rows = cells(browser, ".regressions")
    assert rows[0][4] == "suspected"
    assert re.fullmatch(r"\S+1\d\.\d % to \S+1\d\.\d %", rows[0][5])
    assert rows[0][2] == "scan_range=100"
    assert {row[6] for row in rows[: len(worse)]} == {"minors", "branch"}
    links = "[...document.querySelectorAll('.regressions .links a')].map((link) => link.href)"
    report, issue = (
        next(one for one in browser.run(links) if ending in one)
        for ending in ("night.html#", "issues/")
    )
    assert report.startswith(night.report.as_uri())
    assert issue.startswith((night.folder / "issues").as_uri())
    browser.run("document.querySelector('.regressions td a').click()")
    browser.until("document.title === 'nightshift: scan_range=100'")
    browser.open(night.report)
    assert browser.run(f"Boolean(document.getElementById({report.partition('#')[2]!r}))")


def test_a_view_is_an_address_and_back_goes_back(browser: Browser, night: Made) -> None:
    visit(browser, night.page, f"#trend?line={MINORS}&metric=cpu_us%2Fo&base=17.6")
    assert text(browser, "h1") == "minors: cpu_us/o"
    assert browser.run("document.getElementById('base').value") == "17.6"
    change(browser, "metric", "qps")
    assert text(browser, "h1") == "minors: qps"
    assert "metric=qps" in browser.run("location.hash")
    assert browser.run("document.activeElement.id") == "metric", "the focus stays"
    browser.run("document.querySelector('.panels figcaption a').click()")
    browser.until("document.querySelector('h1').textContent === 'point-query_range=100'")
    assert browser.run("document.activeElement === document.querySelector('h1')")
    for title in ("minors: qps", "minors: cpu_us/o"):
        browser.run("history.back()")
        browser.until(f"document.querySelector('h1').textContent === {title!r}")


def test_steps_are_filtered_by_group_text_and_change(browser: Browser, night: Made) -> None:
    visit(browser, night.page, f"#trend?line={MINORS}")
    names = "[...document.querySelectorAll('.panels figcaption a')].map((link) => link.textContent)"
    every = ["point-query_range=100", "scan_range=100", "update-index_range=100"]
    assert browser.run(names) == every
    go(browser, f"#trend?line={MINORS}&changed=1")
    assert browser.run(names) == every[:2]
    go(browser, f"#trend?line={MINORS}&group=writes")
    assert browser.run(names) == every[2:]
    go(browser, f"#trend?line={MINORS}")
    browser.run("document.getElementById('find').focus()")
    before = browser.run("history.length")
    for letter in "scan":
        browser.press(letter, ord(letter.upper()), letter)
    browser.until(f"{names}.length === 1")
    assert browser.run(names) == every[1:2]
    assert browser.run("document.activeElement.id") == "find"
    assert browser.run("document.activeElement.value") == "scan"
    assert browser.run("history.length") == before, "letters are no steps of the history"


def test_a_chart_is_walked_and_spoken_by_keyboard(browser: Browser, night: Made) -> None:
    visit(browser, night.page, f"#trend?line={MINORS}")
    browser.run("document.querySelectorAll('.panels .plot')[1].focus()")
    browser.press("End", 35)
    assert browser.run(SAID).startswith("17.10, ")
    browser.press("ArrowLeft", 37)
    said = browser.run(SAID)
    assert said.startswith("17.9, ")
    assert "0.86 of the base" in said
    assert f"repetition 2 failed: {HOSTILE_NOTE}" in said
    browser.press("Home", 36)
    browser.press("c", 67, "c")
    said = browser.run(SAID)
    assert said.startswith("17.8, ")
    assert re.search(rf"▼ change point {MINUS}1\d\.\d % \(.*\), suspected", said)
    assert text(browser, ".tip:not([hidden])").startswith("17.8")
    browser.press("Enter", 13, "\r")
    browser.until("document.querySelector('h1').textContent === 'scan_range=100'")
    assert "at=17.8" in browser.run("location.hash")


def test_every_control_is_reached_by_tab_and_has_a_name(browser: Browser, night: Made) -> None:
    visit(browser, night.page, f"#trend?line={MINORS}")
    browser.run("document.querySelector('.skip').focus()")
    met = []
    for _ in range(60):
        browser.press("Tab", 9)
        met.append(
            browser.run(
                "(({ id, className, tagName }) => id || className || tagName)"
                "(document.activeElement)"
            )
        )
        if "plot" in met:
            break
    wanted = ["theme", "line", "metric", "base", "group", "find", "range", "axis", "changed"]
    assert [name for name in met if name in wanted] == wanted
    assert met[-1] == "plot"
    for view in VIEWS:
        go(browser, f"#{view}")
        nameless = browser.run(
            """[
              ...[...document.querySelectorAll('select, input')].filter(({ labels }) => !labels.length),
              ...[...document.querySelectorAll('.chart > .plot')].filter((one) => !one.ariaLabel),
              ...[...document.querySelectorAll('table')].filter(({ caption }) => !caption),
              ...[...document.querySelectorAll('th')].filter(({ scope }) => !scope),
            ].map((one) => one.outerHTML)"""  # noqa: E501
        )
        assert nameless == []
    for landmark in ("header", "nav[aria-label]", "main", "footer", "[aria-live]"):
        assert browser.run(f"document.querySelectorAll({landmark!r}).length") == 1, landmark


def test_a_step_has_every_repetition_and_a_table(browser: Browser, night: Made) -> None:
    visit(browser, night.page, f"#step?line={MINORS}&step=scan_range%3D100")
    leading = "[...document.querySelectorAll('.leading figcaption')].map((one) => one.firstChild.textContent)"  # noqa: E501
    assert browser.run(leading) == ["qps, 1/s", "cpu_us/o, us", "latency_p95, ms"]
    browser.run("document.querySelector('.plot').focus()")
    browser.press("End", 35)
    assert len(re.findall(r"runs (.*), (.*), (.*)", browser.run(SAID))) == 1
    assert "1 run failed or missed the SLA" in text(browser, "summary")
    browser.run("[...document.querySelectorAll('summary')].forEach((one) => one.click())")
    browser.until("document.querySelectorAll('.long-table').length === 1")
    rows = cells(browser, ".long-table")
    assert [row[0] for row in rows] == ["17.10", "17.9", "17.8", "17.7", "17.6", "17.5"]
    assert "▼worse0.86" in rows[0][1]
    assert rows[-1][1] == "1.00"
    assert HOSTILE_NOTE in text(browser, "details ul")


def test_versions_are_compared_with_any_base(browser: Browser, night: Made) -> None:
    visit(browser, night.page, f"#compare?line={MINORS}")
    heads = "[...document.querySelectorAll('.heat thead th')].map((head) => head.firstChild.textContent.trim())"  # noqa: E501
    assert browser.run(heads) == ["Step", "17.5, 1/s", "17.6", "17.7", "17.8", "17.9", "17.10"]

    def ratios() -> dict[str, list[str]]:
        return {row[0]: row[2:] for row in cells(browser, ".heat") if len(row) > 1}

    scan = ratios()["scan_range=100"]
    assert scan[0] == scan[1] == "1.00"
    assert all(one.startswith("▼worse0.8") for one in scan[2:])
    assert ratios()["update-index_range=100"][1] == "–", "all of its runs failed"
    change(browser, "base", "17.9")
    assert ratios()["scan_range=100"][0].startswith("▲better1.1")
    part = "document.querySelector('.heat .better').style.getPropertyValue('--part')"
    assert 0 < int(browser.run(part).rstrip("%")) <= 55
    browser.run("document.querySelector('.heat thead button').click()")
    browser.until(f"!{heads}.includes('17.5')")
    change(browser, "add", "17.5")
    assert "17.5" in browser.run(heads)
    change(browser, "metric", "cpu_us/o")
    assert ratios()["scan_range=100"][0].startswith("▲better0.8"), "less is better"


def test_an_unknown_revision_is_refused_where_it_is_typed(browser: Browser, night: Made) -> None:
    visit(browser, night.page, f"#compare?line={MINORS}")
    browser.run(
        "(() => { const base = document.getElementById('base'); base.value = '99';"
        " base.dispatchEvent(new Event('change')); })()"
    )
    said = browser.run("document.getElementById('base').validationMessage")
    assert said == "minors has no revision 99 that was measured"
    assert "base=99" not in browser.run("location.hash")


def test_a_missed_sla_is_shown(browser: Browser, inserts: Made) -> None:
    visit(browser, inserts.page, "#insert")
    assert text(browser, "h1") == "ib: 1 of 2 steps miss their SLA"
    rows = cells(browser, ".long-table")
    assert rows[0][0] == "17.8"
    assert rows[0][2].startswith("▼SLA missed 0.8")
    assert rows[-1][2] == rows[-1][2].strip("▼")
    change(browser, "metric", "inserts/s")
    browser.run("document.querySelectorAll('.plot')[1].focus()")
    browser.press("End", 35)
    assert browser.run(SAID).endswith("missed")


def test_controls_and_drift_are_shown(browser: Browser, night: Made) -> None:
    visit(browser, night.page, "#machines")
    assert "test-c2r4: bench-1" in text(browser, "main")
    (first, *_) = cells(browser, "main > .wide")
    assert first[:4] == ["control", "17.10", "17.10#2", "1.00"]
    browser.run("document.querySelector('.plot').focus()")
    browser.press("Home", 36)
    assert re.fullmatch(
        r"2026-03-01 22:00, .* of minors, .* of its binary's median", browser.run(SAID)
    )


def test_a_reference_is_seen_where_a_line_of_the_grid_is_too(browser: Browser, night: Made) -> None:
    """The mark at 1.0 has the reference and a line of the grid; the dotted one is the upper."""
    visit(browser, night.page, "#machines")
    longest = """[...document.querySelectorAll('.chart canvas')].map((canvas) => {
      const colour = getComputedStyle(document.documentElement).getPropertyValue('--soft').trim();
      const wanted = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)).join();
      const { width, height } = canvas;
      const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
      const rows = Array(height).fill(0);
      for (let at = 0; at < width * height; at += 1) {
        if (data.slice(4 * at, 4 * at + 3).join() === wanted) rows[Math.floor(at / width)] += 1;
      }
      return Math.max(...rows) / width;
    })"""
    shares = browser.run(longest)
    assert shares and min(shares) > 0.2, "two of five pixels of a dotted line are drawn"


def test_a_range_is_chosen_by_dragging(browser: Browser, night: Made) -> None:
    visit(browser, night.page, f"#trend?line={MINORS}")
    left, right, top = browser.run(
        "(({ left, right, top }) => [left, right, top + 60])"
        "(document.querySelector('.u-over').getBoundingClientRect())"
    )
    wide = right - left
    for kind, x in (
        ("mousePressed", left + 0.4 * wide),
        ("mouseMoved", left + 0.6 * wide),
        ("mouseReleased", left + 0.65 * wide),
    ):
        browser.send(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=top,
            button="left",
            buttons=1,
            clickCount=1,
        )
    browser.until("location.hash.includes('from=17.7')")
    assert "to=17.8" in browser.run("location.hash")
    browser.until("document.getElementById('range').value === 'zoomed'")
    change(browser, "range", "")
    assert "from" not in browser.run("location.hash")
    change(browser, "axis", "time")
    assert browser.complaints() == []


def test_colours_are_chosen_and_remembered(browser: Browser, night: Made) -> None:
    address = f"#trend?line={MINORS}"
    visit(browser, night.page, address)
    assert drawn_pixels(browser, FIRST, "--series-0") > 100
    background = "getComputedStyle(document.body).backgroundColor"
    choose(browser, "theme", "dark")
    assert browser.run(background) == "rgb(20, 23, 26)"
    assert drawn_pixels(browser, FIRST, "--series-0") > 100, "drawn in the colours of the dark"
    visit(browser, night.page, address)
    assert browser.run(background) == "rgb(20, 23, 26)"
    visit(browser, night.page, address, dark=True)
    choose(browser, "theme", "light")
    assert browser.run(background) == "rgb(255, 255, 255)"
    choose(browser, "theme", "")
    assert browser.run(background) == "rgb(20, 23, 26)"


def test_it_prints_whole_and_light(browser: Browser, night: Made, tmp_path: Path) -> None:
    visit(browser, night.page, f"#trend?line={MINORS}", dark=True)
    browser.run("document.querySelector('summary').click()")
    printed = browser.send("Page.printToPDF", printBackground=True)
    pdf = base64.b64decode(printed["data"])
    assert pdf.startswith(b"%PDF") and len(pdf) > 20_000
    browser.run("dispatchEvent(new Event('beforeprint'))")
    browser.send("Emulation.setEmulatedMedia", media="print")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.run("[...document.querySelectorAll('.chart > .plot')].every(({ seen }) => seen)")
    hidden = "getComputedStyle(document.querySelector({!r})).display === 'none'"
    assert browser.run(hidden.format(".bar"))
    assert browser.run(hidden.format(".controls"))
    assert not browser.run(hidden.format("summary")), "folded parts are named on paper, too"
    browser.send("Emulation.setEmulatedMedia", media="")
    browser.run("dispatchEvent(new Event('afterprint'))")
    browser.picture(tmp_path / "after.png")
    assert browser.complaints() == []


def test_hostile_names_are_only_text(browser: Browser, hostile: Made) -> None:
    visit(browser, hostile.page, "#overview")
    for view in VIEWS:
        go(browser, f"#{view}")
        assert browser.run("document.querySelectorAll('img, main script').length") == 0
        browser.run("[...document.querySelectorAll('summary')].forEach((one) => one.click())")
    go(browser, "#trend")
    assert text(browser, "h1") == f"{HOSTILE}: qps"
    assert HOSTILE_GROUP in text(browser, "main")
    browser.run("document.querySelectorAll('.panels .plot')[3].focus()")
    browser.press("End", 35)
    browser.press("ArrowLeft", 37)
    assert browser.run(SAID).startswith(f"17.6{HOSTILE}")
    browser.press("Enter", 13, "\r")
    browser.until(f"document.querySelector('h1').textContent === {HOSTILE!r}")
    assert browser.complaints() == []


def test_missing_data_are_reported(browser: Browser, night: Made, tmp_path: Path) -> None:
    shutil.copytree(night.page.parent, tmp_path / "site")
    page = tmp_path / "site" / "index.html"
    visit(browser, page, "#overview")
    (folder,) = (path for path in page.parent.iterdir() if path.is_dir())
    shutil.rmtree(folder)
    # That the file is not there is a complaint of the browser's own.
    browser.run(
        """new Promise((done) => {
          const look = () => (document.querySelector('h1').textContent === 'This cannot be shown'
            ? done() : setTimeout(look, 5));
          location.hash = '#trend';
          look();
        })"""
    )
    assert "Reload the page" in text(browser, "main")


def test_thousands_of_rows_are_there_when_they_are_looked_at(
    browser: Browser, tmp_path: Path
) -> None:
    store, plan = open_store(f"sqlite:///{tmp_path / 'store.db'}"), make_plan(400, 4, 1)
    fill(store, plan)
    found = Detected(plan=plan.hash, series=4, regressions=())
    page = site_page(tmp_path / "site", store, plan, found, NOW)
    visit(browser, page, "#trend")
    browser.run("document.querySelector('summary').click()")
    browser.until("document.querySelectorAll('.long-table').length === 1")
    rows = cells(browser, ".long-table")
    assert len(rows) < 100
    assert rows[0][0] == "r0399"
    assert browser.run("document.querySelector('.long-table').ariaRowCount") == "401"
    browser.run("document.querySelector('.long').scrollTop = 1e6")
    browser.until(
        "[...document.querySelectorAll('.long-table tbody th')].at(-1).textContent === 'r0000'"
    )
    assert len(cells(browser, ".long-table")) < 100
    assert browser.run("document.getElementById('revisions').options.length") == 0
    browser.run("document.getElementById('base').focus()")
    assert browser.run("document.getElementById('revisions').options.length") == 400
