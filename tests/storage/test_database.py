"""The store's schema, its migrations, and what is said when it cannot be used."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, inspect, text
from sqlalchemy.exc import IntegrityError

from pipeline.storage.bundle import list_bundles
from pipeline.storage.database import empty_store, is_newest, open_store
from pipeline.storage.ingest import ingest
from pipeline.storage.measurements import rows
from pipeline.storage.migrate import newest, upgrade
from pipeline.storage.runs import runs
from pipeline.storage.schema import NEWEST, metadata
from pipeline.text.errors import UserError

from .bundles import put_night
from .dumps import by_names


def test_the_migrations_make_the_schema(store: Engine) -> None:
    with store.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, metadata) == []
        assert set(inspect(connection).get_table_names()) == {*metadata.tables, "alembic_version"}


def test_the_revision_of_the_schema_is_that_of_the_last_migration(store: Engine) -> None:
    """A store of that revision is opened without Alembic."""
    assert newest() == NEWEST
    assert is_newest(store)


def test_an_older_store_is_migrated(store_url: str) -> None:
    """As it is opened; a look at it alone says that it is older."""
    older = open_store(store_url, migrate=False)
    with older.begin() as connection:
        upgrade(connection, "0006")
    assert not is_newest(older)
    older.dispose()
    store = open_store(store_url)
    assert is_newest(store)
    columns = {
        column["name"]
        for table in ("step_run", "workload")
        for column in inspect(store).get_columns(table)
    }
    tables = set(inspect(store).get_table_names())
    store.dispose()
    assert columns >= {"disturbed", "mode"}
    assert not {"regression", "regression_event"} & tables


def test_a_look_at_a_store_of_a_newer_version_refuses_it(store: Engine) -> None:
    with store.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(UserError, match="made by a newer nightshift; upgrade"):
        is_newest(store)


def test_opening_again_changes_nothing(store_url: str, tmp_path: Path) -> None:
    store = open_store(store_url)
    ingest(store, put_night(tmp_path / "bundles"))
    found = by_names(store)
    store.dispose()
    again = open_store(store_url)
    assert by_names(again) == found
    again.dispose()


def test_folders_are_made_for_a_file(tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path}/a/b/store.db").dispose()
    assert (tmp_path / "a" / "b" / "store.db").is_file()


def test_a_store_of_a_newer_version_is_refused(store_url: str) -> None:
    store = open_store(store_url)
    with store.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    store.dispose()
    with pytest.raises(UserError, match="made by a newer nightshift; upgrade") as error:
        open_store(store_url)
    assert "\n" not in str(error.value)


def test_foreign_keys_are_kept(store: Engine) -> None:
    with store.connect() as connection, pytest.raises(IntegrityError):
        connection.execute(
            text("INSERT INTO measurement (step_run, metric, value) VALUES (1, 1, 1.0)")
        )


KILLED = """
import os, signal, sys
from sqlalchemy import event
from sqlalchemy.engine import Engine
from pipeline.storage import database

url, verb, deadly = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = database.open_store(url) if verb == "empty" else None
calls = []

@event.listens_for(Engine, "after_cursor_execute")
def die(connection, cursor, statement, *_):
    if statement.strip().startswith(("CREATE TABLE", "DROP TABLE")):
        calls.append(statement)
        if len(calls) == deadly:
            os.kill(os.getpid(), signal.SIGKILL)

database.empty_store(store) if store is not None else database.open_store(url)
"""


@pytest.mark.parametrize(
    ("verb", "deadly"), [("open", 1), ("open", 5), ("empty", 4), ("empty", 15)]
)
def test_a_killed_migration_leaves_nothing_half_made(
    store_url: str, tmp_path: Path, verb: str, deadly: int
) -> None:
    put_night(tmp_path / "bundles", minors=1)
    if verb == "empty":
        store = open_store(store_url)
        ingest(store, list_bundles(tmp_path / "bundles"))
        store.dispose()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, store_url, verb, str(deadly)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    store = open_store(store_url)
    # Emptying is all or nothing too: the runs are still there, and are known.
    assert len(runs(store)) == (2 if verb == "empty" else 0)
    assert ingest(store, list_bundles(tmp_path / "bundles")).taken == (0 if verb == "empty" else 2)
    store.dispose()


@pytest.mark.parametrize(
    "url",
    [
        "store.db",
        "nothing://x/y",
        "mysql+nothing://x/y",
        "postgresql+psycopg://nobody:secret@127.0.0.1:1/nothing",
        "sqlite:////proc/nothing/store.db",
    ],
)
def test_a_store_that_cannot_be_opened_is_one_line(url: str) -> None:
    with pytest.raises(UserError) as error:
        open_store(url)
    assert "\n" not in str(error.value)
    assert "secret" not in str(error.value)


def written(folder: Path) -> Path:
    """A store on SQLite with some runs in it, closed."""
    path = folder / "store.db"
    store = open_store(f"sqlite:///{path}")
    ingest(store, put_night(folder / "bundles"))
    store.dispose()
    return path


def assert_says_what_to_do(error: pytest.ExceptionInfo[UserError], path: Path) -> None:
    said = str(error.value)
    assert "\n" not in said
    assert f"the store {path} is damaged" in said
    assert f"move {path} away" in said and "`nightshift rebuild`" in said


@pytest.mark.parametrize("damage", ["other file", "is truncated", "overwritten"])
def test_a_damaged_file_says_what_to_do(tmp_path: Path, damage: str) -> None:
    path = written(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(
        {
            "other file": b"%PDF-1.7\n" * 1000,
            "is truncated": whole[:6000],
            "overwritten": whole[:4096] + b"\x5a" * (len(whole) - 4096),
        }[damage]
    )
    with pytest.raises(UserError) as error:
        open_store(f"sqlite:///{path}")
    assert_says_what_to_do(error, path)
    # And that helps.
    for file in tmp_path.glob("store.db*"):
        file.rename(file.with_name(f"{file.name}.damaged"))
    store = open_store(f"sqlite:///{path}")
    assert ingest(store, list_bundles(tmp_path / "bundles")).taken == 6
    store.dispose()


def test_damage_that_is_met_later_says_the_same(tmp_path: Path) -> None:
    """The schema is well, and the pages of one table are not."""
    path = written(tmp_path)
    with sqlite3.connect(path) as raw:
        (size,) = raw.execute("PRAGMA page_size").fetchone()
        (page,) = raw.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'measurement'"
        ).fetchone()
    raw.close()
    content = bytearray(path.read_bytes())
    content[(page - 1) * size : page * size] = b"\x5a" * size
    path.write_bytes(content)
    store = open_store(f"sqlite:///{path}")
    with pytest.raises(UserError) as error:
        list(rows(store))
    assert_says_what_to_do(error, path)
    # Where the table is written, too.
    with store.connect() as connection, pytest.raises(UserError) as error:
        connection.execute(text("DELETE FROM measurement"))
    assert_says_what_to_do(error, path)
    store.dispose()


def test_a_full_disk_says_so(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    with store.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 30")
        connection.rollback()
    with pytest.raises(UserError, match=r"the disk that holds the store .* is full; free") as error:
        ingest(store, put_night(tmp_path / "bundles", minors=10))
    assert "\n" not in str(error.value)
    with store.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 100000")
        connection.rollback()
    ingest(store, list_bundles(tmp_path / "bundles"))
    assert len(runs(store)) == 20
    store.dispose()


def test_emptying_an_empty_store(store: Engine) -> None:
    empty_store(store)
    assert runs(store) == []
