"""Open the store: the SQLite or PostgreSQL database with all results, at the newest schema."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote
from weakref import WeakSet

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    String,
    Table,
    create_engine,
    event,
    func,
    inspect,
    select,
)
from sqlalchemy.engine import ExceptionContext, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from pipeline.storage.schema import NEWEST, metadata
from pipeline.text.errors import UserError, first_line

_NEWER = (
    "the store was made by a newer nightshift; upgrade this one, or move the store away and run "
    "`nightshift rebuild`"
)

_PATIENCE = 120
"""Seconds to wait for another writer of a SQLite store. A writer locks the store while it writes
one bundle or migrates the schema."""

_WRITES = "nightshift_writes"
"""The name of SQLAlchemy's execution option that marks a connection whose transactions write."""

_LOCK = 0x6E696768
"""The key of the advisory lock that writers take in PostgreSQL; it locks one database, not the
server."""

_VERSION = Table("alembic_version", MetaData(), Column("version_num", String))
"""The table in which Alembic keeps the schema's revision."""

_OPENED: WeakSet[Engine] = WeakSet()
"""The engines that this process has opened, for :func:`close_stores`."""


@atexit.register
def close_stores() -> None:
    """Close all connections of this process to stores.

    When the last connection to a SQLite store closes, SQLite moves the write-ahead log into the
    database file.
    """
    for engine in list(_OPENED):
        engine.dispose()


def open_store(url: str, *, migrate: bool = True) -> Engine:
    """Open the store at ``url``; create it or migrate it to the newest schema if needed.

    Without ``migrate`` the schema stays unchanged; :func:`is_newest` checks it. A SQLite store with
    the newest schema is readable in a read-only folder. Raises UserError if the store cannot be
    opened or a newer nightshift created it.
    """
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database:
            Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(parsed)
        _OPENED.add(engine)
        if engine.dialect.name == "sqlite":
            event.listen(engine, "handle_error", _explain)
            event.listen(engine, "do_connect", _accept_read_only)
            event.listen(engine, "connect", _prepare_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
        elif engine.dialect.name == "postgresql":
            # Only for a store on PostgreSQL, because the import is slow.
            from pipeline.storage import postgres_connection  # noqa: PLC0415

            event.listen(engine, "do_connect", postgres_connection.connect)
            event.listen(engine, "handle_error", postgres_connection.explain)
        try:
            with engine.connect() as connection:
                newest = not migrate or _revision(connection) == NEWEST
                connection.rollback()
                if not newest:
                    with exclusive(connection):
                        _migrate(connection)
        except BaseException:
            engine.dispose()
            raise
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise UserError(
            f"store.url is not the address of a supported database ({first_line(error)}); write "
            "sqlite:///FILE or postgresql+psycopg://USER@HOST/DATABASE"
        ) from error
    except (DBAPIError, OSError) as error:
        shown = make_url(url).render_as_string(hide_password=True)
        cause = getattr(error, "orig", None) or error
        raise UserError(
            f"the store {shown} cannot be opened ({first_line(cause)}); check store.url and the "
            "permissions"
        ) from error
    return engine


def is_newest(engine: Engine) -> bool:
    """Return whether a store has the newest schema; opening migrates an older one.

    Raises UserError if a newer nightshift created the store.
    """
    with engine.connect() as connection:
        has = _revision(connection)
        if has == NEWEST:
            return True
        # Only an older store needs Alembic, whose import is slow.
        from pipeline.storage.migrate import is_known  # noqa: PLC0415

        if has is not None and not is_known(has):
            raise UserError(_NEWER)
    return False


def empty_store(engine: Engine) -> None:
    """Drop all tables of the store and create the newest schema."""
    with engine.connect() as connection, exclusive(connection):
        metadata.drop_all(connection)
        _VERSION.drop(connection, checkfirst=True)
        _migrate(connection)


@contextmanager
def exclusive(connection: Connection) -> Iterator[None]:
    """Hold the store for writing, in one transaction. Other writers wait; readers do not.

    The connection must be in no transaction. SQLite refuses to upgrade a read transaction after
    another process has written, so the transaction begins as a writing one.
    """
    connection.execution_options(**{_WRITES: True})
    with connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        yield


def _migrate(connection: Connection) -> None:
    """Migrate a store to the newest schema. Raises UserError if a newer nightshift created it."""
    if _revision(connection) == NEWEST:
        return
    # Only an older store needs Alembic, whose import takes 0.3 s of processor time.
    from pipeline.storage.migrate import UnknownRevisionError, upgrade  # noqa: PLC0415

    try:
        upgrade(connection)
    except UnknownRevisionError as error:
        raise UserError(_NEWER) from error


def _revision(connection: Connection) -> str | None:
    """Return the schema version of a store; None for a store without tables."""
    if not inspect(connection).has_table(_VERSION.name):
        return None
    return connection.execute(select(_VERSION.c.version_num)).scalar()


def _accept_read_only(
    _dialect: object, _record: object, arguments: list[Any], options: dict[str, Any]
) -> None:
    """Open a SQLite file as immutable if its folder is read-only.

    A reader of a database with write-ahead logging creates two files beside it, which a read-only
    folder refuses; for an immutable database it creates none. If a log exists it must be read, so
    the file is then opened normally.
    """
    path = Path(arguments[0])
    if path.exists() and _is_immutable(path):
        arguments[0] = read_only_address(path)
        options["uri"] = True


def read_only_address(path: Path) -> str:
    """Return the address with which SQLite opens a store for reading only."""
    immutable = "&immutable=1" if _is_immutable(path) else ""
    return f"file:{quote(str(path))}?mode=ro{immutable}"


def _is_immutable(path: Path) -> bool:
    """Whether nobody can write to a SQLite file, and no log of earlier writers must be read."""
    log = path.with_name(f"{path.name}-wal")
    return not os.access(path.parent, os.W_OK) and not log.exists()


def _prepare_sqlite(connection: Any, _record: object) -> None:
    """Switch a SQLite connection to write-ahead logging and enforced foreign keys.

    Foreign keys are off in SQLite by default. The driver's own handling of transactions is switched
    off, because it begins none before statements that create or drop tables: a killed migration or
    rebuild would leave only some of the tables.
    """
    connection.isolation_level = None
    for pragma in (
        f"busy_timeout={1000 * _PATIENCE}",
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _explain(context: ExceptionContext) -> None:
    """Raise a UserError that says how to fix a damaged, read-only, busy or full SQLite store."""
    cause = context.original_exception
    name = getattr(cause, "sqlite_errorname", "")
    file = context.engine.url.database if context.engine is not None else None
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        raise UserError(
            f"the store {file} is damaged ({first_line(cause)}); move {file} away, with its "
            "-wal and -shm files if they exist, and run `nightshift rebuild`: the bundles hold "
            "everything in it"
        ) from cause
    if name.startswith("SQLITE_READONLY"):
        raise UserError(
            f"the store {file} or its folder cannot be written; make them writable, or run the "
            "command as their owner"
        ) from cause
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        raise UserError(
            f"another process has been writing to the store {file} for more than {_PATIENCE} s; "
            "run the same command again when it has ended: all results are kept"
        ) from cause
    if name.startswith("SQLITE_FULL"):
        raise UserError(
            f"the disk that holds the store {file} is full; free some space and run the same "
            "command again: all results are kept"
        ) from cause
