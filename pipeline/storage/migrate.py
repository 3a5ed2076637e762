"""Migrate the schema of the store to a newer version, with Alembic."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection


class UnknownRevisionError(Exception):
    """The store has a schema version that this nightshift does not know."""


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Migrate a store to a revision of the schema, by default to the newest.

    Raises UnknownRevisionError for a store whose schema has an unknown revision.
    """
    settings = _settings()
    settings.attributes["connection"] = connection
    try:
        command.upgrade(settings, revision)
    except CommandError as error:
        raise UnknownRevisionError(str(error)) from error


def is_known(revision: str) -> bool:
    """Return whether this nightshift knows a version of the store's schema."""
    return revision in {each.revision for each in _scripts().walk_revisions()}


def newest() -> str | None:
    """Return the newest version of the store's schema."""
    return _scripts().get_current_head()


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_settings())


def _settings() -> Config:
    settings = Config()
    settings.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return settings
