"""A SQLite database that clients can open: a folder, without any process.

The load generator loads the build's SQLite library and is the DBMS. This module uses the same
library.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from pipeline.machine.account import Account
from pipeline.machine.tasks import Task
from pipeline.model import Build, Connection, FieldKind, SampledField, ServerConfig
from pipeline.targets.base import Activity, Placement, ServerError, StartError
from pipeline.targets.base.templates import DATABASE, USER, copy_template
from pipeline.targets.sqlite.library import Rows, execute, library

CONFIGURATION = "connection.sql"
"""The file beside the database that every connection executes; the workloads use it too."""

SETTINGS = (
    "analysis_limit",
    "application_id",
    "auto_vacuum",
    "automatic_index",
    "busy_timeout",
    "cache_size",
    "cache_spill",
    "cell_size_check",
    "checkpoint_fullfsync",
    "encoding",
    "foreign_keys",
    "fullfsync",
    "hard_heap_limit",
    "journal_mode",
    "journal_size_limit",
    "legacy_alter_table",
    "locking_mode",
    "max_page_count",
    "mmap_size",
    "page_size",
    "query_only",
    "read_uncommitted",
    "recursive_triggers",
    "reverse_unordered_selects",
    "secure_delete",
    "soft_heap_limit",
    "synchronous",
    "temp_store",
    "threads",
    "trusted_schema",
    "user_version",
    "wal_autocheckpoint",
    "writable_schema",
)
"""Every PRAGMA that is a setting, not an action. A release returns nothing for an unknown one."""

ACTIVITY = (
    SampledField("dbms.database_bytes", FieldKind.GAUGE, "bytes"),
    SampledField("dbms.wal_bytes", FieldKind.GAUGE, "bytes"),
)
"""Sizes that show SQLite's activity from outside: a checkpoint moves the content of the write-ahead
log into the database."""


class SQLiteDatabase:
    """A SQLite database in its own folder, returned by :func:`start`."""

    pid = None

    def __init__(self, connection: Connection, configuration: str, folder: Path) -> None:
        """Use the database in ``folder``; ``connection`` is how clients reach it."""
        self.connection = connection
        self.activity: Activity | None = Activity(ACTIVITY, lambda: nullcontext(self._sizes))
        self._configuration = configuration
        self._folder = folder

    def serves(self, task: Task) -> bool:
        """Return True: every thread is a client's."""
        del task
        return True

    def settings(self) -> Mapping[str, str]:
        """Return SQLite's settings, its release, and its compile-time options.

        The names of compile-time options begin with ``compiled.``.
        """
        texts = [f"PRAGMA {name}" for name in SETTINGS]
        *values, options, (release,) = self._execute(
            *texts, "PRAGMA compile_options", "SELECT sqlite_version()"
        )
        found = {name: str(rows[0][0]) for name, rows in zip(SETTINGS, values, strict=True) if rows}
        for (option,) in options:
            name, _, value = str(option).partition("=")
            found[f"compiled.{name}"] = value
        return {**found, "version": str(release[0])}

    def maintain(self, tables: Sequence[str]) -> None:
        """Analyse every table, then move the write-ahead log into the database.

        maintenance.log has the number of pages.
        """
        analyse = [f"ANALYZE {table}" for table in tables]
        *_, ((_, held, moved),) = self._execute(*analyse, "PRAGMA wal_checkpoint(FULL)")
        with (self._folder.parent / "maintenance.log").open("a") as log:
            print(f"checkpoint: {moved} of the {held} pages in the log", file=log)

    def database_bytes(self) -> int:
        """Return the size of the database and its log in bytes."""
        return sum(path.stat().st_size for path in self._folder.iterdir())

    def _sizes(self) -> Mapping[str, float]:
        """Return the sizes of the database and of its log, in bytes."""
        path = self._folder / self.connection.database
        found = {}
        for field, file in zip(ACTIVITY, (path, path.with_name(f"{path.name}-wal")), strict=True):
            with contextlib.suppress(FileNotFoundError):
                found[field.name] = float(file.stat().st_size)
        return found

    def stop(self) -> None:
        """Do nothing, because no process remains after the load generator has ended."""

    def _execute(self, *texts: str) -> list[Rows]:
        path = Path(self.connection.socket_dir) / self.connection.database
        _, *answers = execute(Path(self.connection.program), path, [self._configuration, *texts])
        return answers


def fill(account: Account, folder: Path) -> None:
    """Create ``folder`` with an empty file, which SQLite accepts as an empty database."""
    account.own(folder)
    (folder / DATABASE).touch()
    account.give(folder)


def start(
    build: Build, config: ServerConfig, template: Path, placement: Placement
) -> SQLiteDatabase:
    """Copy the empty SQLite database and write the configuration beside it.

    Raises StartError for a library that does not work, or does not accept the configuration.
    """
    placement.account.own(placement.folder)
    folder = placement.folder / "data"
    copy_template(template, folder, placement.account)
    (placement.folder / CONFIGURATION).write_text(config.text, encoding="utf-8")
    connection = Connection(
        driver="sqlite",
        socket_dir=str(folder),
        port=placement.port,
        user=USER,
        database=DATABASE,
        program=str(library(build.home)),
    )
    database = SQLiteDatabase(connection, config.text, folder)
    try:
        database.settings()
    except ServerError as error:
        raise StartError(f"SQLite {build.version} did not start ({error})") from error
    return database
