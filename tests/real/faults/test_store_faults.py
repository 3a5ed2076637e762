"""A team's store on PostgreSQL, killed, stopped for a while and slowed in the middle of a step.

The night goes on, and nothing is lost or measured twice. A store that is stopped for ever, or that
a firewall hides, ends every verb with one line.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from sqlalchemy import Engine, event

from pipeline.machine.account import Account
from pipeline.model import Cell, Connection, Machine
from pipeline.storage import postgres_connection
from pipeline.storage.database import close_stores
from pipeline.targets.base import Placement, ServerError
from pipeline.targets.postgres import Postgres
from pipeline.targets.postgres.server import PostgresServer
from tests.conftest import Release
from tests.ports import free_port
from tests.simulated import Ran, Simulation, invoke, simulate

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


def stop(server: PostgresServer) -> None:
    """Stop every process of the server."""
    send_all(server, signal.SIGSTOP)


def go_on(server: PostgresServer) -> None:
    """Let every process of a stopped server go on."""
    send_all(server, signal.SIGCONT)


def send_all(server: PostgresServer, number: signal.Signals) -> None:
    """Send a signal to every process of the server, the first one first."""
    for one in [psutil.Process(server.pid), *psutil.Process(server.pid).children()]:
        # A process that vacuums may end at any time.
        with suppress(ProcessLookupError):
            os.kill(one.pid, number)


def stand_still(server: PostgresServer) -> None:
    """Stop every process of the server for a while."""
    stop(server)
    threading.Timer(STOPPED, go_on, [server]).start()


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
        go_on(server)
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
    simulation.configure(more=stored_at(store_server.connection))
    yield simulation
    close_stores()
    # The cursors of sessions that ended in the middle complain now, and not in another test.
    gc.collect()


def stored_at(way: Connection, folder: str = "") -> str:
    """Return the configuration of a store on a server, whose socket may be in another folder."""
    where = folder or way.socket_dir
    url = f"postgresql+psycopg://{way.user}@/{way.database}?host={where}&port={way.port}"
    return f'\n[store]\nurl = "{url}"\n'


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
        assert ("the night continues" in ran.err) is (act is kill)
    assert len(simulation.bundles()) == len(simulation.measured()) == 6
    wait_for_answer(store_server)
    again = simulation.run("nightly")
    assert "nothing left to measure" in again.out
    assert len(simulation.measured()) == 6
    table = simulation.run("table", "--absolute").out
    simulation.run("rebuild")
    assert simulation.run("table", "--absolute").out == table


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a store for seconds instead of minutes."""
    monkeypatch.setattr(postgres_connection, "CONNECT", 2)
    monkeypatch.setattr(postgres_connection, "SILENCE", 1.0)


def refused(ran: Ran) -> bool:
    """Whether a verb ended with one line that says that nothing is lost."""
    last = ran.err.strip().rpartition("\n")[2]
    return (
        ran.code == 2
        and "Traceback" not in ran.err
        and last.startswith("nightshift: the store postgresql+psycopg://")
        and "run the same command again: all results are kept" in last
    )


@pytest.mark.usefixtures("impatient")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_store_that_stays_stopped_ends_a_night_after_its_runs(
    simulation: Simulation, store_server: PostgresServer
) -> None:
    def stopped(cell: Cell, step: str, settings: Mapping[str, str]) -> float:
        del cell, step, settings
        if len(simulation.measured()) == 3:
            stop(store_server)
        return 1.0

    simulation.slowness = stopped
    ran = invoke("nightly")
    assert refused(ran), ran.err
    assert "the night continues" in ran.err
    assert len(simulation.bundles()) == len(simulation.measured()) == 6
    assert refused(invoke("nightly"))
    go_on(store_server)
    wait_for_answer(store_server)
    assert "nothing left to measure" in simulation.run("nightly").out
    assert len(simulation.measured()) == 6
    table = simulation.run("table", "--absolute").out
    simulation.run("rebuild")
    assert simulation.run("table", "--absolute").out == table


VERBS = (
    "backfill",
    "confirm",
    "detect",
    "ingest",
    "ledger",
    "nightly",
    "plan",
    "prune --bundles 90",
    "rebuild",
    "replay",
    "report",
    "run",
    "site",
    "table",
)
"""The verbs that need the store of a results folder."""


@pytest.mark.usefixtures("impatient")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("verb", VERBS)
def test_a_stopped_store_ends_every_verb(
    simulation: Simulation, store_server: PostgresServer, verb: str
) -> None:
    simulation.run("nightly")
    simulation.commit()
    close_stores()
    # The first one has something to do.
    assert count_statements(verb)
    statements = count_statements(verb)
    for at in sorted({0, 1, statements}):
        close_stores()
        if at == 0:
            stop(store_server)
            ran = invoke(*verb.split())
        else:
            with acting_before(at, lambda: stop(store_server)):
                ran = invoke(*verb.split())
        # A night whose site fails is complete but for that.
        warned = verb == "nightly" and ran.code == 0 and "all results are kept" in ran.err
        assert refused(ran) or warned, f"stopped at statement {at} of {statements}: {ran}"
        go_on(store_server)
        wait_for_answer(store_server)
    simulation.run(*verb.split())


@contextmanager
def acting_before(number: int, act: Callable[[], None]) -> Iterator[list[int]]:
    """Do something before a statement of this process in a store; yields how many there were."""
    count = [0]

    def about_to(*_: object) -> None:
        count[0] += 1
        if count[0] == number:
            act()

    event.listen(Engine, "before_cursor_execute", about_to)
    try:
        yield count
    finally:
        event.remove(Engine, "before_cursor_execute", about_to)


def count_statements(verb: str) -> int:
    """Return how many statements a verb sends to the store."""
    with acting_before(0, lambda: None) as count:
        ran = invoke(*verb.split())
    assert ran.code == 0, ran
    return count[0]


class Wire:
    """Passes bytes on between a socket of its own and that of a server, until it is cut.

    Then neither side hears anything any more, as behind a firewall that drops every packet.
    """

    def __init__(self, folder: Path, way: Connection) -> None:
        name = f".s.PGSQL.{way.port}"
        self._to = Path(way.socket_dir) / name
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(folder / name))
        self._server.listen()
        self._whole = threading.Event()
        self._kept: list[socket.socket] = []
        self.mend()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Pass nothing on from now on."""
        self._whole.clear()

    def mend(self) -> None:
        """Pass everything on again, of new connections."""
        self._whole.set()

    def _accept(self) -> None:
        while True:
            ours, _ = self._server.accept()
            theirs = socket.socket(socket.AF_UNIX)
            theirs.connect(str(self._to))
            self._kept += [ours, theirs]
            for pair in ((ours, theirs), (theirs, ours)):
                threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 14):
                self._whole.wait()
                to.sendall(data)
        to.close()


@pytest.mark.usefixtures("impatient")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_store_behind_a_firewall_that_drops_ends_a_verb(
    simulation: Simulation, store_server: PostgresServer, server_folder: Path
) -> None:
    (server_folder / "wire").mkdir()
    wire = Wire(server_folder / "wire", store_server.connection)
    simulation.configure(more=stored_at(store_server.connection, str(server_folder / "wire")))
    simulation.run("nightly")
    table = simulation.run("table", "--absolute")
    for at in (1, 3):
        close_stores()
        with acting_before(at, wire.cut):
            assert refused(invoke("table", "--absolute"))
        assert refused(invoke("table", "--absolute"))
        wire.mend()
        assert simulation.run("table", "--absolute") == table
