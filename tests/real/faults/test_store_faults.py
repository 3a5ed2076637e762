"""A team's store on PostgreSQL, killed, stopped for a while and slowed in the middle of a step.

The night goes on, and nothing is lost or measured twice.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from pipeline.machine.account import Account
from pipeline.model import Cell, Machine
from pipeline.storage.database import close_stores
from pipeline.targets.base import Placement, ServerError
from pipeline.targets.postgres import Postgres
from pipeline.targets.postgres.server import PostgresServer
from tests.conftest import Release
from tests.ports import free_port
from tests.simulated import Simulation, invoke, simulate

STOPPED = 3.0
"""Seconds for which the store stands still."""


def workers(server: PostgresServer) -> list[psutil.Process]:
    """Return the processes of the server that have a session with the database."""
    database = f" {server.connection.database} "
    children = psutil.Process(server.pid).children()
    return [one for one in children if database in f"{' '.join(one.cmdline())} "]


def kill(server: PostgresServer) -> None:
    """Kill the sessions: all others end, and the server recovers."""
    for one in workers(server):
        one.send_signal(signal.SIGKILL)


def stand_still(server: PostgresServer) -> None:
    """Stop every process of the server for a while."""
    everyone = [psutil.Process(server.pid), *psutil.Process(server.pid).children()]
    for one in everyone:
        one.send_signal(signal.SIGSTOP)

    def go_on() -> None:
        time.sleep(STOPPED)
        for one in everyone:
            os.kill(one.pid, signal.SIGCONT)

    threading.Thread(target=go_on).start()


def slow_down(server: PostgresServer) -> None:
    """Stop the sessions now and then for a while."""

    def hinder() -> None:
        until = time.monotonic() + STOPPED
        while time.monotonic() < until:
            for number in (signal.SIGSTOP, signal.SIGCONT):
                # A session may end at any time.
                with suppress(psutil.NoSuchProcess, ProcessLookupError):
                    for one in workers(server):
                        os.kill(one.pid, number)
                time.sleep(0.2)

    threading.Thread(target=hinder).start()


def wait_for_answer(server: PostgresServer) -> None:
    """Wait until the server has recovered."""
    deadline = time.monotonic() + 60.0
    while True:
        try:
            server.settings()
            return
        except ServerError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.fixture
def store_server(
    releases: Callable[[str], Release], server_folder: Path, account: Account, machine: Machine
) -> Iterator[PostgresServer]:
    """A server of its own, which the test may kill."""
    target, release = Postgres(), releases("17")
    template = server_folder / "template"
    target.template(release.build, template, account)
    small = machine.model_copy(update={"memory_bytes": 2**30})
    server = target.start(
        release.build,
        target.config("x10a", release.revision, small),
        template,
        Placement(folder=server_folder / "store", port=free_port(), processors=(), account=account),
    )
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def simulation(
    server_folder: Path, monkeypatch: pytest.MonkeyPatch, store_server: PostgresServer
) -> Iterator[Simulation]:
    """A machine with three new commits, whose store is that server."""
    (server_folder / "hub").mkdir()
    simulation = simulate(server_folder / "hub", monkeypatch)
    for _ in range(3):
        simulation.commit()
    way = store_server.connection
    url = f"postgresql+psycopg://{way.user}@/{way.database}?host={way.socket_dir}&port={way.port}"
    simulation.configure(more=f'\n[store]\nurl = "{url}"\n')
    yield simulation
    close_stores()


# Verbs in this process leave their sessions to the garbage collector, or to the fixture.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("act", [kill, stand_still, slow_down])
def test_a_store_that_fails_within_a_step_ends_no_night(
    simulation: Simulation, store_server: PostgresServer, act: Callable[[PostgresServer], None]
) -> None:
    done: list[bool] = []

    def disturbed(cell: Cell, step: str, settings: Mapping[str, str]) -> float:
        del cell, step, settings
        if len(simulation.measured()) == 3 and not done:
            done.append(True)
            act(store_server)
        return 1.0

    simulation.slowness = disturbed
    ran = invoke("nightly")
    assert done
    assert "Traceback" not in ran.err
    # A simulated night may be over before a killed server has recovered.
    if act is kill and ran.code:
        assert ran.code == 2
        assert "all results are kept" in ran.err.splitlines()[-1]
    else:
        assert ran.code == 0, ran.err
        assert ("the night goes on" in ran.err) is (act is kill)
    assert len(simulation.bundles()) == len(simulation.measured()) == 6
    wait_for_answer(store_server)
    again = simulation.run("nightly")
    assert "nothing left to measure" in again.out
    assert len(simulation.measured()) == 6
    table = simulation.run("table", "--absolute").out
    simulation.run("rebuild")
    assert simulation.run("table", "--absolute").out == table
