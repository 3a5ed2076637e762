"""A store of each kind: every test that asks for one runs on SQLite and on PostgreSQL."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import Engine

from pipeline.measure.plan import Plan
from pipeline.storage.database import open_store
from tests.conftest import RunningPostgres
from tests.storage.asked_store import copy_store, make_asked


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a store that does not exist yet."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'store.db'}"
        return
    server: RunningPostgres = request.getfixturevalue("postgres_server")
    name = f"store_{uuid.uuid4().hex}"
    with psycopg.connect(
        host=str(server.socket_dir),
        port=server.port,
        user=server.user,
        dbname=server.database,
        autocommit=True,
    ) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield (
                f"postgresql+psycopg://{server.user}@/{name}"
                f"?host={server.socket_dir}&port={server.port}"
            )
        finally:
            connection.execute(
                sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            )


@pytest.fixture
def store(store_url: str) -> Iterator[Engine]:
    """An empty store, open."""
    engine = open_store(store_url)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Engine, Plan]:
    """A store with everything that the documented queries ask for, and its plan."""
    return make_asked(tmp_path_factory.mktemp("asked"))


@pytest.fixture
def copied(asked: tuple[Engine, Plan], store: Engine) -> Engine:
    """A copy of that store on each database."""
    copy_store(asked[0], store)
    return store
