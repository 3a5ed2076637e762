"""Queries see the views, and cannot write whatever they say."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from pipeline.measure.plan import Plan
from pipeline.model.metrics import METRICS
from pipeline.storage.columns import measurement_columns
from pipeline.storage.database import open_store
from pipeline.storage.queries import VIEWS, ask, view_columns
from pipeline.text.errors import UserError
from tests.mounts import read_only
from tests.storage.asked_store import REGRESSIONS, copy_store, stated

PAGE = Path(__file__).parents[2] / "docs/guide/sql.md"

WRITES = (
    "DELETE FROM run",
    "UPDATE step SET name = 'x'",
    "INSERT INTO metric (id, name) VALUES (99, 'x')",
    "WITH x AS (SELECT 1) DELETE FROM run",
    "DROP TABLE measurement",
    "DROP VIEW measurement",
    "CREATE TABLE x (y INTEGER)",
    "CREATE TEMPORARY TABLE x (y INTEGER)",
    "BEGIN",
    "COMMIT",
    "VACUUM",
    "SELECT 1; DELETE FROM run",
    "COMMIT; DELETE FROM run",
)
"""What no query may do, on both databases."""

ON_SQLITE = (
    "ATTACH 'other.db' AS other",
    "PRAGMA query_only = OFF",
    "PRAGMA writable_schema = ON",
    "SELECT * FROM pragma_query_only",
    "SELECT load_extension('x')",
    "VACUUM INTO 'other.db'",
)

ON_POSTGRESQL = (
    "COPY run TO '/tmp/x'",
    "SET TRANSACTION READ WRITE",
    "WITH x AS (DELETE FROM run RETURNING 1) SELECT * FROM x",
    "SELECT nextval('run_id_seq')",
)


def test_views_have_the_documented_columns(copied: Engine) -> None:
    page = PAGE.read_text()
    shared = {
        f"*{name}*": listed.replace("`", "").split(", ")
        for name, listed in re.findall(r"\*(\w+)\* is (`[^;.]+)[;.]", page)
    }
    for view in VIEWS:
        (listed,) = (line for line in page.splitlines() if line.startswith(f"| `{view}` |"))
        documented: list[str] = []
        for column in listed.split(" | ")[2].rstrip(" |").split(", "):
            documented += shared.get(column, [column.strip("`")])
        answer = ask(copied, f"SELECT * FROM {view} LIMIT 0", 1)
        assert list(answer.columns) == documented == list(view_columns()[view]), view


def test_series_points_are_those_that_detection_reads(
    asked: tuple[Engine, Plan], copied: Engine
) -> None:
    plan = asked[1]
    columns = measurement_columns(copied, tuple(METRICS))
    expected = [
        (line.name, series.key.step, series.key.metric, point.position, point.run_id, point.value)
        for line in plan.lines
        for series in columns.series_along(
            line.name, [revision.label for revision in line.revisions], line.keys()
        )
        for point in series.points
    ]
    answer = ask(
        copied,
        "SELECT line, step, metric, position, run_id, value FROM series_point",
        1_000_000,
        plan.lines,
    )
    assert len(expected) > 1000
    assert sorted(answer.rows) == sorted(expected)


def test_a_query_cannot_write(copied: Engine, tmp_path: Path) -> None:
    sqlite = copied.dialect.name == "sqlite"
    count = "SELECT count(*) FROM run"
    before = ask(copied, count, 1).rows
    for query in (*WRITES, *(ON_SQLITE if sqlite else ON_POSTGRESQL)):
        with pytest.raises(UserError) as refused:
            ask(copied, query, 1, (), REGRESSIONS)
        assert "\n" not in str(refused.value)
    assert ask(copied, count, 1).rows == before
    assert not list(tmp_path.glob("other.db*"))


def test_nothing_of_the_views_stays(copied: Engine) -> None:
    ask(copied, "SELECT * FROM regression", 5, (), REGRESSIONS)
    assert ask(copied, "SELECT * FROM regression", 5).rows == []
    with copied.connect() as connection:
        # The table of this name, not the view.
        columns = connection.execute(text("SELECT * FROM measurement LIMIT 1")).keys()
    assert list(columns) == ["step_run", "metric", "value"]


def test_the_limit_says_that_there_is_more(copied: Engine) -> None:
    for limit, more in ((1, True), (2, True), (3, False), (4, False)):
        answer = ask(copied, "SELECT fingerprint FROM regression;", limit, (), REGRESSIONS)
        assert (len(answer.rows), answer.more) == (min(limit, 3), more)


def test_a_mistake_is_told_in_one_line_with_the_views(copied: Engine) -> None:
    for query, why in (
        ("SELECT colour FROM run", "colour"),
        ("SELECT * FROM runs", "runs"),
        ("SELEC 1", "SELEC"),
        ("  ; ", "the query is empty"),
    ):
        with pytest.raises(UserError, match=why) as refused:
            ask(copied, query, 1)
        assert "\n" not in str(refused.value)


def test_values_are_text_and_never_sql(copied: Engine) -> None:
    note = "it's; DROP TABLE run --"
    answer = ask(copied, "SELECT note, worst FROM regression", 5, (), [stated(note=note)])
    assert [(text_, bool(worst)) for text_, worst in answer.rows] == [(note, True)]


def test_a_store_in_a_read_only_folder_can_be_asked(
    asked: tuple[Engine, Plan], tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    store = open_store(f"sqlite:///{folder / 'store.db'}")
    copy_store(asked[0], store)
    store.dispose()
    file = folder / "store.db"
    content = hashlib.sha256(file.read_bytes()).hexdigest()
    with read_only(folder):
        store = open_store(f"sqlite:///{file}")
        (found,) = ask(store, "SELECT count(*) FROM run", 1).rows
    store.dispose()
    assert found[0] > 10
    assert hashlib.sha256(file.read_bytes()).hexdigest() == content
