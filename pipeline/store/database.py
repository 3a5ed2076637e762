"""Opening the store: SQLite by default, PostgreSQL by URL, always at the newest schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    String,
    Table,
    create_engine,
    event,
    inspect,
    select,
)
from sqlalchemy.engine import ExceptionContext, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from pipeline.errors import UserError, first_line
from pipeline.store.schema import NEWEST, metadata

_NEWER = (
    "the store was made by a newer nightshift; upgrade this one, or move the store away and run "
    "`nightshift rebuild`"
)

_VERSION = Table("alembic_version", MetaData(), Column("version_num", String))
"""Where Alembic keeps the revision of a store's schema."""


def open_store(url: str, *, migrate: bool = True) -> Engine:
    """Return an engine on the store at ``url``, created and migrated as needed.

    Without ``migrate`` it is as it was, which :func:`is_newest` tells. Raises UserError when it
    cannot be opened or was made by a newer nightshift.
    """
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database:
            Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(parsed)
        event.listen(engine, "handle_error", _explain)
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _prepare_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
        try:
            with engine.begin() as connection:
                if migrate:
                    _migrate(connection)
        except BaseException:
            engine.dispose()
            raise
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise UserError(
            f"store.url is not a database this nightshift can use ({first_line(error)}); "
            "write sqlite:///FILE or postgresql+psycopg://USER@HOST/DATABASE"
        ) from error
    except (DBAPIError, OSError) as error:
        shown = make_url(url).render_as_string(hide_password=True)
        cause = getattr(error, "orig", None) or error
        raise UserError(f"the store {shown} cannot be opened: {first_line(cause)}") from error
    return engine


def is_newest(engine: Engine) -> bool:
    """Say whether a store has the newest schema; an older one is migrated when it is used.

    Raises UserError for one that was made by a newer nightshift.
    """
    with engine.connect() as connection:
        has = _revision(connection)
        if has == NEWEST:
            return True
        # Only a store that is not the newest is worth the import of Alembic.
        from pipeline.store.migrate import is_known  # noqa: PLC0415

        if has is not None and not is_known(has):
            raise UserError(_NEWER)
    return False


def empty_store(engine: Engine) -> None:
    """Remove everything from the store and bring it to the newest schema again."""
    with engine.begin() as connection:
        metadata.drop_all(connection)
        _VERSION.drop(connection, checkfirst=True)
        _migrate(connection)


def _migrate(connection: Connection) -> None:
    """Bring a store to the newest schema. Raises UserError for one of a newer nightshift."""
    if _revision(connection) == NEWEST:
        return
    # Only a store that is not the newest is worth the import of Alembic: 0.3 s of processor time.
    from pipeline.store.migrate import UnknownRevisionError, upgrade  # noqa: PLC0415

    try:
        upgrade(connection)
    except UnknownRevisionError as error:
        raise UserError(_NEWER) from error


def _revision(connection: Connection) -> str | None:
    """Return the revision of a store's schema; None for a store without tables."""
    if not inspect(connection).has_table(_VERSION.name):
        return None
    return connection.execute(select(_VERSION.c.version_num)).scalar()


def _prepare_sqlite(connection: Any, _record: object) -> None:
    """Write-ahead logging survives a kill; foreign keys are off in SQLite unless asked for.

    The driver would begin transactions by itself, but not before statements that make or drop
    tables: a killed migration or rebuild would leave half of them.
    """
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _explain(context: ExceptionContext) -> None:
    """Say what to do about a SQLite file that is damaged or cannot grow, whoever met it."""
    cause = context.original_exception
    name = getattr(cause, "sqlite_errorname", "")
    file = context.engine.url.database if context.engine is not None else None
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        raise UserError(
            f"the store {file} is damaged ({first_line(cause)}); everything in it comes from the "
            f"bundles: move {file} away, with its -wal and -shm files if there are any, and run "
            "`nightshift rebuild`"
        ) from cause
    if name.startswith("SQLITE_FULL"):
        raise UserError(
            f"the disk that holds the store {file} is full; free some space and run the same "
            "command again, nothing measured is lost"
        ) from cause
