"""The database of the site has what the store has, and the page needs no server."""

from __future__ import annotations

import base64
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from pipeline.measure.plan import Plan
from pipeline.site import database
from pipeline.site.database import fill_database, write_database
from pipeline.storage.queries import ask, view_columns
from tests.site.conftest import Made
from tests.storage.asked_store import REGRESSIONS
from tests.storage.test_questions import QUESTIONS, compared


def test_every_question_has_the_answer_of_the_store(
    asked: tuple[Engine, Plan], copied: Engine, tmp_path: Path
) -> None:
    plan = asked[1]
    fill_database(tmp_path / "site.db", copied, plan.lines, REGRESSIONS)
    site = sqlite3.connect(tmp_path / "site.db")
    for question, query in QUESTIONS:
        expected = ask(copied, query, 1000, plan.lines, REGRESSIONS)
        found = site.execute(query)
        assert tuple(column[0] for column in found.description) == expected.columns, question
        assert compared(found.fetchall()) == compared(expected.rows), question
    for view, columns in view_columns().items():
        found = site.execute(f"SELECT * FROM {view} LIMIT 0")
        assert tuple(column[0] for column in found.description) == columns
    site.close()


def test_the_parts_are_the_file(
    asked: tuple[Engine, Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, plan = asked
    monkeypatch.setattr(database, "PART", 10_000)
    made = write_database(tmp_path, store, plan, REGRESSIONS)
    parts = [
        json.loads((tmp_path / f"sql-{number}.js").read_text()[len("nightshift(") : -3])
        for number in range(-(-made.size // 10_000))
    ]
    content = b"".join(base64.b64decode(part["data"]["bytes"]) for part in parts)
    assert len(content) == made.size
    assert len(list(tmp_path.glob("sql-*.js"))) == len(parts) + 1
    (tmp_path / "joined.db").write_bytes(content)
    joined = sqlite3.connect(tmp_path / "joined.db")
    (count,) = joined.execute("SELECT count(*) FROM measurement").fetchone()
    assert count == ask(store, "SELECT count(*) FROM measurement", 1).rows[0][0]
    joined.close()


def test_an_equal_database_of_an_earlier_night_is_used_again(
    asked: tuple[Engine, Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, plan = asked
    filled: list[Path] = []
    whole = database.fill_database

    def fill(path: Path, *rest: Any) -> tuple[int, int, int, int]:
        filled.append(path)
        return whole(path, *rest)

    monkeypatch.setattr(database, "fill_database", fill)
    folders = [tmp_path / f"data-{night}" for night in range(4)]
    for folder in folders:
        folder.mkdir()
    made = [write_database(folder, store, plan, REGRESSIONS) for folder in folders[:2]]
    assert made[0] == made[1]
    assert len(filled) == 1
    first, second = (sorted(folder.glob("sql-*.js")) for folder in folders[:2])
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    # Another state of a regression is another database; so is one that is not complete.
    write_database(folders[2], store, plan, REGRESSIONS[1:])
    assert len(filled) == 2
    for folder in folders[:2]:
        (folder / "sql-0.js").unlink()
    assert write_database(folders[3], store, plan, REGRESSIONS) == made[0]
    assert len(filled) == 3


def test_what_is_left_out_is_the_oldest_and_the_page_says_so(
    asked: tuple[Engine, Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, plan = asked
    monkeypatch.setattr(database, "NEWEST_TIMELINES", 6)
    monkeypatch.setattr(database, "NEWEST_COSTS", 5)
    counts = fill_database(tmp_path / "site.db", store, plan.lines, ())
    site = sqlite3.connect(tmp_path / "site.db")
    kept = site.execute("SELECT DISTINCT started_at FROM step_second").fetchall()
    newest = site.execute("SELECT started_at FROM run ORDER BY started_at DESC LIMIT 2").fetchall()
    assert set(kept) <= set(newest)
    (costs,) = site.execute("SELECT count(*) FROM function_cost").fetchone()
    assert (counts[0], counts[2], costs) == (6, 5, 5)
    assert counts[1] > 6
    site.close()


def test_only_the_page_sql_may_start_a_worker(night: Made) -> None:
    policies = {
        page.name: re.findall(r'Content-Security-Policy" content="([^"]+)"', page.read_text())[0]
        for page in night.page.parent.glob("*.html")
    }
    assert set(policies) == {"index.html", "night.html", "sql.html"}
    engine = {name for name, policy in policies.items() if "worker-src" in policy}
    assert engine == {name for name, policy in policies.items() if "wasm" in policy}
    assert engine == {"sql.html"}
    assert "connect-src" not in policies["sql.html"]
    assert "default-src &#39;none&#39;" in policies["sql.html"]
