"""Opening the store: SQLite by default, PostgreSQL by URL, always at the newest schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config as AlembicConfig
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import ExceptionContext, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from pipeline.errors import UserError, first_line
from pipeline.store.schema import metadata

_NEWER = (
    "the store was made by a newer nightshift; upgrade this one, or move the store away and run "
    "`nightshift rebuild`"
)


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
        script = ScriptDirectory.from_config(_settings(connection))
        has = MigrationContext.configure(connection).get_current_revision()
    if has is not None and has not in {each.revision for each in script.walk_revisions()}:
        raise UserError(_NEWER)
    return has == script.get_current_head()


def empty_store(engine: Engine) -> None:
    """Remove everything from the store and bring it to the newest schema again."""
    with engine.begin() as connection:
        metadata.drop_all(connection)
        connection.exec_driver_sql("DROP TABLE IF EXISTS alembic_version")
        _migrate(connection)


def _settings(connection: Connection) -> AlembicConfig:
    settings = AlembicConfig()
    settings.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    settings.attributes["connection"] = connection
    return settings


def _migrate(connection: Connection) -> None:
    settings = _settings(connection)
    newest = ScriptDirectory.from_config(settings).get_current_head()
    if MigrationContext.configure(connection).get_current_revision() == newest:
        return
    try:
        command.upgrade(settings, "head")
    except CommandError as error:
        raise UserError(_NEWER) from error


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
