"""A lock that somebody holds while a step runs, named first as why the step is slower."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest

from pipeline.cli.app import app
from pipeline.explain.explain import explain_step
from pipeline.explain.samples import side_of
from pipeline.model import Connection, Machine, Revision, ServerConfig
from pipeline.storage.ingest import check_bundle
from pipeline.targets import find_target
from pipeline.targets.base.mysql_protocol import asking
from pipeline.targets.postgres.server import connect
from tests.conftest import Release
from tests.nights import leftovers, make_night

RUNS = int(os.environ.get("NIGHTSHIFT_RUNS", "3"))
"""Runs with the lock: more by hand."""
HELD, FREE = 0.9, 0.1
"""Seconds for which the lock is held, and for which it is free."""
LOCKED = "\n# a session locks the table\n"
"""The end of the configuration of a server whose table is locked."""


def lock_postgres(connection: Connection) -> None:
    with connect(connection) as session:
        while True:
            with suppress(psycopg.errors.UndefinedTable), session.transaction():
                session.execute("LOCK TABLE sbtest1")
                time.sleep(HELD)
            time.sleep(FREE)


def lock_innodb(connection: Connection) -> None:
    with asking(connection) as session:
        while True:
            # No table yet, or one that was changed meanwhile; a lost connection fails below.
            with suppress(pymysql.err.MySQLError):
                session.execute("START TRANSACTION")
                session.execute("SELECT COUNT(*) FROM sbtest1 FOR UPDATE")
                time.sleep(HELD)
            session.execute("ROLLBACK")
            time.sleep(FREE)


def until_it_ends(lock: Callable[[Connection], None], connection: Connection) -> None:
    with suppress(psycopg.Error, pymysql.err.Error, Exception):
        lock(connection)


@pytest.mark.parametrize(
    ("target", "major", "config", "event", "lock"),
    [
        ("postgres", "17", "x10a", "Lock:relation", lock_postgres),
        ("mariadb", "11.4", "z12b", "row lock", lock_innodb),
    ],
)
def test_the_lock_is_named_first_in_every_run(
    releases_of: Callable[[str, str], Release],
    tmp_path: Path,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    target: str,
    major: str,
    config: str,
    event: str,
    lock: Callable[[Connection], None],
) -> None:
    version = releases_of(target, major).revision.version
    dbms: Any = type(find_target(target))
    real_config, real_start = find_target(target).config, dbms.start

    def configured(family: str, revision: Revision, machine: Machine) -> ServerConfig:
        made = real_config(family, revision, machine)
        end = "" if revision.copy_number < 2 else LOCKED
        return made.model_copy(update={"text": made.text + end})

    def start(self: Any, build: Any, config: ServerConfig, *rest: Any) -> Any:
        server = real_start(self, build, config, *rest)
        if config.text.endswith(LOCKED):
            threading.Thread(
                target=until_it_ends, args=(lock, server.connection), daemon=True
            ).start()
        return server

    monkeypatch.setattr(dbms, "config", staticmethod(configured))
    monkeypatch.setattr(dbms, "start", start)
    night = make_night(
        tmp_path / "night",
        revisions=[version, f"{version}#2"],
        steps=["update-index"],
        repetitions=RUNS,
        target=target,
        config=config,
    )
    file = night.folder / "nightshift.toml"
    file.write_text(file.read_text().replace('measure = "1s"', 'measure = "8s"'))
    monkeypatch.chdir(night.folder)
    for stage in ("discover", "run"):
        app([stage], standalone_mode=False)
    checked = [check_bundle(path) for path in night.folder.glob("results/bundles/*.tar.zst")]
    base, locked = (
        [each for each in checked if (each[0].manifest.revision.copy_number > 1) is copies]
        for copies in (False, True)
    )
    assert len(base) == len(locked) == RUNS
    before = side_of("before", base)
    (step,) = before.steps
    named = []
    for run in locked:
        after = side_of("after", [run])
        explained = explain_step(step, "", before.steps[step], after.steps[step], {"qps"}, 0.05)
        named.append(explained.findings[0].evidence[0])
    assert [event in evidence for evidence in named] == [True] * RUNS, named
    assert leftovers(cache) == []
