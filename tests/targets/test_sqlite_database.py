"""A real database of SQLite: made ready, asked, maintained, and failing in every usual way."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.machine.account import Account
from pipeline.model import Build, Machine, Revision, ServerConfig
from pipeline.targets.base import Placement, ServerError, StartError
from pipeline.targets.sqlite import SQLite
from pipeline.targets.sqlite.database import SETTINGS, SQLiteDatabase
from pipeline.targets.sqlite.library import execute, library
from tests.ports import free_port

TARGET = SQLite()


def revision(version: str = "3.46.0") -> Revision:
    first, second, third = map(int, version.split("."))
    return Revision(
        target="sqlite", version=version, order=(first, second, third), major=f"{first}.{second}"
    )


def ask(database: SQLiteDatabase, *texts: str) -> list[list[list[str | None]]]:
    connection = database.connection
    path = Path(connection.socket_dir) / connection.database
    return execute(Path(connection.program), path, texts)


@pytest.fixture
def build(sqlite_builds: Callable[[str], Build]) -> Build:
    return sqlite_builds("3.46.0")


@pytest.fixture
def start(
    build: Build, server_folder: Path, account: Account
) -> Callable[[ServerConfig], SQLiteDatabase]:
    """Make a database with a configuration."""
    template = server_folder / "template"
    TARGET.template(build, template, account)
    placement = Placement(
        folder=server_folder / "run", port=free_port(), processors=(), account=account
    )
    return lambda config: TARGET.start(build, config, template, placement)


@pytest.mark.parametrize("version", ["3.24.0", "3.46.0"])
def test_a_build_says_which_release_it_is(
    sqlite_builds: Callable[[str], Build], version: str
) -> None:
    build = sqlite_builds(version)
    found = TARGET.identify(build.home)
    assert found.version.startswith(f"{version} 20")
    assert build.provenance.reported_version == found.version
    assert build.provenance.compiler.startswith("gcc")
    assert "libc.so.6" in build.provenance.libraries


def test_every_connection_has_the_settings_of_the_configuration(
    sqlite_database: SQLiteDatabase,
) -> None:
    found = sqlite_database.settings()
    assert found["version"] == "3.46.0"
    assert set(SETTINGS) <= found.keys(), "a release of today knows them all"
    chosen = {
        "journal_mode": "wal",
        "synchronous": "1",
        "page_size": "4096",
        "busy_timeout": "10000",
        "cache_size": str(-(16 << 10)),
        "mmap_size": str(716 << 20),
        "temp_store": "2",
        "wal_autocheckpoint": "16384",
        "compiled.THREADSAFE": "2",
        "compiled.DEFAULT_MEMSTATUS": "0",
        "compiled.MAX_VARIABLE_NUMBER": "32766",
    }
    assert {name: found[name] for name in chosen} == chosen


def test_settings_are_the_same_in_every_run(
    start: Callable[[ServerConfig], SQLiteDatabase], machine: Machine
) -> None:
    config = TARGET.config("wal", revision(), machine)
    first = start(config).settings()
    assert start(config).settings() == first


def test_memory_scales_with_the_machine(machine: Machine) -> None:
    def text(gb: int) -> str:
        return TARGET.config(
            "wal", revision(), machine.model_copy(update={"memory_bytes": gb << 30})
        ).text

    assert "cache_size = -262144;" in text(32)
    assert f"mmap_size = {128 * 1024 * 7 // 10 << 20};" in text(128)
    assert "cache_size = -16384;" in text(1)


def test_commits_are_configured_as_the_newest_release(machine: Machine) -> None:
    commit = Revision(target="sqlite", version="0123456789ab", order=(7,), major="")
    config = TARGET.config("wal", commit, machine)
    assert config.text == TARGET.config("wal", revision(), machine).text


def test_it_has_no_process_and_stops_at_once(sqlite_database: SQLiteDatabase) -> None:
    assert sqlite_database.pid is None
    sqlite_database.stop()
    sqlite_database.stop()


def test_a_start_forgets_the_run_before(
    start: Callable[[ServerConfig], SQLiteDatabase], machine: Machine
) -> None:
    config = TARGET.config("wal", revision(), machine)
    ask(start(config), "CREATE TABLE a (id)")
    assert ask(start(config), "SELECT count(*) FROM sqlite_master") == [[["0"]]]


def test_the_files_belong_to_the_account(sqlite_database: SQLiteDatabase, account: Account) -> None:
    ask(sqlite_database, "CREATE TABLE a (id)")
    folder = Path(sqlite_database.connection.socket_dir)
    assert folder.stat().st_mode & 0o077 == 0
    for path in (folder, *folder.iterdir()):
        assert path.stat().st_uid == account.uid


def test_maintenance_analyses_the_tables_and_empties_the_log(
    sqlite_database: SQLiteDatabase,
) -> None:
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
    ask(
        sqlite_database,
        "CREATE TABLE sbtest1 (id INTEGER PRIMARY KEY, k INTEGER); CREATE INDEX k_1 ON sbtest1 (k);"
        f"INSERT INTO sbtest1 (k) {many} SELECT i % 100 FROM n",
    )
    sqlite_database.maintain(["sbtest1"])
    found = ask(sqlite_database, "SELECT idx, stat FROM sqlite_stat1")
    assert found == [[["k_1", "5000 50"]]]
    folder = Path(sqlite_database.connection.socket_dir)
    assert [path.name for path in folder.iterdir()] == ["sbtest"]
    assert sqlite_database.database_bytes() == (folder / "sbtest").stat().st_size > 50_000
    log = (folder.parent / "maintenance.log").read_text()
    held, moved = (int(word) for word in log.split() if word.isdecimal())
    assert held == moved > 0


def test_its_activity_is_the_size_of_its_files(sqlite_database: SQLiteDatabase) -> None:
    assert sqlite_database.activity is not None
    with sqlite_database.activity.session() as ask:
        empty = ask()
        # The log comes and goes with the connections.
        assert set(empty) <= {field.name for field in sqlite_database.activity.fields}
        path = Path(sqlite_database.connection.socket_dir) / sqlite_database.connection.database
        log = path.with_name(f"{path.name}-wal")
        log.write_bytes(b"x" * 5000)
        assert ask() == {"dbms.database_bytes": path.stat().st_size, "dbms.wal_bytes": 5000.0}
        log.unlink()
        assert ask().keys() == {"dbms.database_bytes"}


def test_maintenance_of_a_missing_table_is_not_swallowed(sqlite_database: SQLiteDatabase) -> None:
    with pytest.raises(ServerError, match="no such table: sbtest9"):
        sqlite_database.maintain(["sbtest9"])


def test_a_wrong_configuration_is_one_line(
    start: Callable[[ServerConfig], SQLiteDatabase],
) -> None:
    config = ServerConfig(family="mine", name="mine", text="PRAGMA page_size = 4096;\nSELEC 1;\n")
    with pytest.raises(StartError) as error:
        start(config)
    assert str(error.value) == 'SQLite 3.46.0 did not start (near "SELEC": syntax error)'


def test_a_damaged_database_is_an_error_of_the_server(sqlite_database: SQLiteDatabase) -> None:
    (Path(sqlite_database.connection.socket_dir) / "sbtest").write_bytes(b"nothing of SQLite" * 99)
    for what in (sqlite_database.settings, lambda: sqlite_database.maintain(["sbtest1"])):
        with pytest.raises(ServerError, match="file is not a database"):
            what()


def test_a_library_that_crashes_is_an_error_of_the_server(tmp_path: Path) -> None:
    code = tmp_path / "crash.c"
    code.write_text(
        "#include <stdlib.h>\n"
        "const char *sqlite3_errmsg(void *c) { return 0; }\n"
        "int sqlite3_open_v2(const char *f, void **c, int g, const char *v) { abort(); }\n"
    )
    library_path = tmp_path / "libsqlite3.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library_path, code], check=True)
    with pytest.raises(ServerError, match="killed by SIGABRT"):
        execute(library_path, Path(":memory:"), ["SELECT 1"])


def test_values_are_texts_and_nulls(build: Build) -> None:
    texts = ["SELECT 1, 'ä', NULL", "", "SELECT 2.5"]
    found = execute(library(build.home), Path(":memory:"), texts)
    assert found == [[["1", "ä", None]], [], [["2.5"]]]
