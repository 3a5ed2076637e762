"""A started MariaDB server: how it is started, asked, maintained and stopped."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pymysql
from pymysql.cursors import Cursor

from pipeline.machine.ports import LOOPBACK
from pipeline.model import Build, Connection, ServerConfig
from pipeline.targets.base import Placement, ServerError
from pipeline.targets.base.processes import await_ready, prepare, start_process, stop_tree
from pipeline.targets.base.templates import DATABASE, USER
from pipeline.targets.mariadb.datadir import complaint, server_command
from pipeline.targets.mariadb.install import environment

SOCKET = "socket"
"""The name of the socket in the server's folder; the workloads know it too."""
CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a server that does not take connections."""
DEBT_POLL = 0.05
"""Seconds between two looks at the debt that maintenance waits for."""
DEBT_PATIENCE = 5.0
"""Seconds without any progress after which maintenance goes on with what debt is left."""


class Debt(NamedTuple):
    """What writes leave to be done: how much of it there is, and what makes it be done now."""

    name: str
    owed: str
    at_once: Mapping[str, str]


DEBTS = (
    Debt(
        "row versions to purge",
        "SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'",
        # They are let go of after every batch, not after every 128. From 10.2 on.
        {"innodb_purge_rseg_truncate_frequency": "1"},
    ),
    Debt(
        "dirty pages",
        "SELECT variable_value FROM information_schema.global_status "
        "WHERE variable_name = 'innodb_buffer_pool_pages_dirty'",
        # The low-water mark first: it may not be above the other.
        {"innodb_max_dirty_pages_pct_lwm": "0", "innodb_max_dirty_pages_pct": "0"},
    ),
)
"""The debts of InnoDB, in the order of their payment: purge dirties pages."""


class MariaDBServer:
    """One running server. Made by :func:`start`."""

    def __init__(
        self, process: subprocess.Popen[bytes], connection: Connection, folder: Path
    ) -> None:
        """Take over a started ``process`` whose files are in ``folder``."""
        self.connection = connection
        self.pid = process.pid
        self._process = process
        self._folder = folder

    def settings(self) -> Mapping[str, str]:
        """Return all global variables; those that begin with ``version`` tell the compiler."""
        with self._session() as session:
            session.execute("SHOW GLOBAL VARIABLES")
            return {str(name): str(value) for name, value in sorted(session.fetchall())}

    def maintain(self, tables: Sequence[str]) -> None:
        """Analyse every table, let InnoDB purge old row versions, then write all dirty pages.

        How much debt each began and ended with is kept in maintenance.log.
        """
        with self._session() as session, (self._folder / "maintenance.log").open("a") as log:
            for table in tables:
                _analyze(session, table)
            for debt in DEBTS:
                began, before = time.monotonic(), _owed(session, debt)
                with _set_globals(session, debt.at_once):
                    left = _await_payment(session, debt)
                seconds = time.monotonic() - began
                print(f"{debt.name}: {before} before, {left} after {seconds:.1f} s", file=log)

    def database_bytes(self) -> int:
        """Return the size of the workload's database: of the files of its tables."""
        return sum(path.stat().st_size for path in (self._folder / "data" / DATABASE).iterdir())

    def stop(self) -> None:
        """Stop the server at once. Safe to call twice.

        The database is not used again, and a server that is asked to go would write it first.
        It is one process and leaves nothing outside of its folder.
        """
        stop_tree(self._process, signal.SIGKILL)

    @contextmanager
    def _session(self) -> Iterator[Cursor]:
        try:
            with connect(self.connection) as session, session.cursor() as cursor:
                yield cursor
        except pymysql.MySQLError as error:
            raise ServerError(_sentence(error)) from error


def connect(connection: Connection) -> pymysql.Connection[Cursor]:
    """Return a session that commits every statement. Raises pymysql.MySQLError."""
    session = pymysql.connect(
        user=connection.user,
        database=connection.database,
        charset="latin1",
        autocommit=True,
        defer_connect=True,
    )
    # The driver would leave a socket open that nobody listens on; it is given one that works.
    wire = socket.socket(socket.AF_UNIX)
    wire.settimeout(CONNECT_TIMEOUT)
    try:
        wire.connect(f"{connection.socket_dir}/{SOCKET}")
    except OSError as error:
        wire.close()
        raise pymysql.err.OperationalError(f"nobody answers on its socket ({error})") from error
    session.connect(wire)
    return session


def start(
    build: Build, config: ServerConfig, template: Path, placement: Placement
) -> MariaDBServer:
    """Start a server on a copy of ``template`` and wait until it answers.

    Data, socket and log go to the placement's folder.
    """
    folder = placement.folder
    path = folder / SOCKET
    data = prepare(build, template, path, placement)
    file = folder / "my.cnf"
    file.write_text(config.text, encoding="utf-8")
    file.chmod(0o644)  # The server's account must read it, whatever our umask is.
    connection = Connection(
        driver="mysql",
        socket_dir=str(folder),
        port=placement.port,
        user=USER,
        database=DATABASE,
    )

    def answers() -> bool:
        if path.exists():
            # It listens a moment before it lets anyone in.
            with contextlib.suppress(pymysql.err.OperationalError):
                connect(connection).close()
                return True
        return False

    command = [
        *server_command(build, data, file),
        # What is given here belongs to the run and not to the configuration.
        f"--socket={path}",
        f"--bind-address={LOOPBACK}",
        f"--port={placement.port}",
        f"--pid-file={folder}/pid",
        f"--tmpdir={folder}",
    ]
    process = start_process(command, placement, environment(build.home))
    await_ready(process, f"MariaDB {build.version}", placement, answers, complaint)
    return MariaDBServer(process, connection, folder)


def _analyze(session: Cursor, table: str) -> None:
    """Count the table's keys anew. A failure comes as a row of the result."""
    session.execute(f"ANALYZE TABLE {_quoted(table)}")
    for _, _, kind, said in session.fetchall():
        if str(kind).lower() == "error":
            raise ServerError(str(said))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _owed(session: Cursor, debt: Debt) -> int:
    session.execute(debt.owed)
    row = session.fetchone()
    if row is None:
        raise ServerError(f"the server does not tell the number of {debt.name}")
    return int(row[0])


def _await_payment(session: Cursor, debt: Debt) -> int:
    """Wait until a debt is paid, or no more of it is. Return what is left."""
    least = _owed(session, debt)
    progress = time.monotonic()
    while least and time.monotonic() - progress < DEBT_PATIENCE:
        time.sleep(DEBT_POLL)
        left = _owed(session, debt)
        if left < least:
            least, progress = left, time.monotonic()
    return least


@contextmanager
def _set_globals(session: Cursor, values: Mapping[str, str]) -> Iterator[None]:
    """Set those global variables that the release has, for a while."""
    before: dict[str, str] = {}
    for name, value in values.items():
        session.execute("SHOW GLOBAL VARIABLES LIKE %s", (name,))
        for _, present in session.fetchall():
            before[name] = str(present)
            session.execute(f"SET GLOBAL {name} = {value}")
    try:
        yield
    finally:
        for name, value in reversed(tuple(before.items())):
            session.execute(f"SET GLOBAL {name} = {value}")


def _sentence(error: pymysql.MySQLError) -> str:
    """Return what the server said, without its number."""
    return str(error.args[-1]).strip().splitlines()[0] if error.args else type(error).__name__
