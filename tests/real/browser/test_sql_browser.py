"""The page SQL in a real browser, opened from disk: SQLite in a worker, loaded part by part."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import Engine

from pipeline.config import DetectSection
from pipeline.measure.plan import Plan
from pipeline.regressions.detect import detect_all
from pipeline.site import database
from pipeline.storage.queries import ask
from tests.site.browser import PROGRAM, Browser
from tests.site.pages import site_page
from tests.storage.asked_store import REGRESSIONS, make_asked, stated
from tests.storage.test_questions import QUESTIONS

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed"),
]

RESULT = "document.getElementById('result')"
DONE = f"{RESULT}.getAttribute('aria-busy') === 'false'"
ROWS = f"[...{RESULT}.querySelectorAll('tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))"  # noqa: E501
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Engine, Plan]:
    """(page, store, plan) of a site whose database has many small parts."""
    folder = tmp_path_factory.mktemp("asked")
    store, plan = make_asked(folder)
    patched = pytest.MonkeyPatch()
    patched.setattr(database, "PART", 8192)
    detected = detect_all(store, plan, DetectSection())
    rows = (
        *REGRESSIONS,
        stated(fingerprint="hostile", note=HOSTILE, first_bad="17.5", worst=False),
    )
    now = datetime(2026, 3, 9, tzinfo=UTC)
    page = site_page(folder / "site", store, plan, detected, now, rows=rows, results=folder)
    patched.undo()
    return page.with_name("sql.html"), store, plan


def open_query(browser: Browser, page: Path, query: str) -> list[list[str]]:
    """Open the page anew with a query in its address; return the cells of the rows."""
    browser.open(page)
    browser.run(f"location.hash = {f'#q={quote(query)}'!r}; 0")
    browser.until(f"{RESULT}.hasAttribute('aria-busy')")
    browser.until(DONE)
    found: list[list[str]] = browser.run(ROWS)
    return found


def parts_of(browser: Browser) -> int:
    """How many parts of the database were loaded."""
    return len([address for address in browser.requests() if "/sql-" in address]) - 1


def test_every_question_has_an_answer_in_the_browser(
    browser: Browser, asked: tuple[Path, Engine, Plan]
) -> None:
    page, store, plan = asked
    browser.open(page)
    for question, query in QUESTIONS:
        browser.run(f"{RESULT}.removeAttribute('aria-busy'); location.hash = ''; 0")
        browser.run(f"location.hash = {f'#q={quote(query)}'!r}; 0")
        browser.until(DONE)
        expected = ask(store, query, 1000, plan.lines, REGRESSIONS)
        heads = browser.run(
            f"[...{RESULT}.querySelectorAll('thead th')].map((cell) => cell.textContent)"
        )
        assert tuple(heads) == expected.columns, question
        assert len(browser.run(ROWS)) == len(expected.rows), question
    assert browser.complaints() == []


def test_a_linked_query_loads_only_the_parts_that_it_reads(
    browser: Browser, asked: tuple[Path, Engine, Plan]
) -> None:
    page, *_ = asked
    parts = len(list(page.parent.glob("data-*/sql-*.js"))) - 1
    few = open_query(browser, page, "SELECT run_id, bundle FROM run ORDER BY run_id LIMIT 1")
    assert few[0][1] == f"bundles/{few[0][0]}.tar.zst"
    address = browser.run(f"{RESULT}.querySelector('td a').href")
    assert address == (page.parent.parent / few[0][1]).as_uri()
    assert parts_of(browser) < parts
    ((count,),) = open_query(browser, page, "SELECT count(value) FROM measurement")
    assert int(count) > 500
    assert {each.split(":")[0] for each in browser.requests()} <= {"file", "blob"}
    assert browser.complaints() == []


def test_values_are_shown_as_text_and_mistakes_in_one_line(
    browser: Browser, asked: tuple[Path, Engine, Plan]
) -> None:
    page, *_ = asked
    found = open_query(browser, page, "SELECT note FROM regression WHERE fingerprint = 'hostile'")
    assert found == [[HOSTILE]]
    for query, why in (
        ("SELECT colour FROM run", "no such column: colour"),
        ("DELETE FROM stored_run", "queries can only read"),
        ("WITH x AS (SELECT 1) DELETE FROM stored_run", "readonly"),
    ):
        browser.open(page)
        browser.run(f"location.hash = {f'#q={quote(query)}'!r}; 0")
        browser.until(f"{RESULT}.textContent.includes({why!r})")
    assert browser.complaints() == []


def test_an_endless_query_can_be_stopped_and_the_next_one_runs(
    browser: Browser, asked: tuple[Path, Engine, Plan]
) -> None:
    page, *_ = asked
    numbers = "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x)"
    endless = f"{numbers} SELECT count(*) FROM x"
    browser.open(page)
    browser.run(f"document.getElementById('query').value = {endless!r}; 0")
    browser.run("document.getElementById('run').click(); 0")
    browser.until("!document.getElementById('stop').hidden")
    browser.run("document.getElementById('stop').click(); 0")
    browser.until(f"{RESULT}.textContent.includes('stopped')")
    browser.run("document.getElementById('query').value = 'SELECT 42'; 0")
    browser.run("document.getElementById('run').click(); 0")
    browser.until(f"{RESULT}.textContent.includes('42')")
    assert browser.complaints() == []
