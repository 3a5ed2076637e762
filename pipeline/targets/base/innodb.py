"""A MySQL or MariaDB server with InnoDB: start it, query it, maintain it, stop it."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pymysql.cursors import Cursor

from pipeline.machine.ports import LOOPBACK
from pipeline.model import Build, Connection, ServerConfig
from pipeline.targets.base import Activity, Ask, Placement, ServerError, innodb_activity
from pipeline.targets.base.innodb_threads import ServerThreads
from pipeline.targets.base.mysql_log import first_error
from pipeline.targets.base.mysql_protocol import SOCKET, asking, make_database, quoted
from pipeline.targets.base.processes import await_ready, prepare, start_process, stop_tree
from pipeline.targets.base.templates import DATABASE, USER

DEBT_POLL = 0.05
"""Seconds between two queries of the deferred work that maintenance waits for."""
DEBT_PATIENCE = 5.0
"""Seconds without progress after which maintenance stops waiting for deferred work."""


class Debt(NamedTuple):
    """A kind of work that InnoDB defers: the query for its amount, the settings that speed it up.

    ``owed`` is the query, whose only row has the amount in its last column. ``at_once`` are the
    settings.
    """

    name: str
    owed: str
    at_once: Mapping[str, str]


DEBTS = (
    Debt(
        "row versions to purge",
        "SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'",
        # Truncate the history after every batch, not after every 128. Available since MySQL 5.7 and
        # MariaDB 10.2.
        {"innodb_purge_rseg_truncate_frequency": "1"},
    ),
    Debt(
        "dirty pages",
        "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'",
        # The low-water mark first: it may not exceed the other.
        {"innodb_max_dirty_pages_pct_lwm": "0", "innodb_max_dirty_pages_pct": "0"},
    ),
)
"""InnoDB's kinds of deferred work in the order of maintenance: purge comes first, because it
dirties pages."""


class InnoDBServer:
    """A running MySQL or MariaDB server, returned by :func:`start`."""

    def __init__(
        self, process: subprocess.Popen[bytes], connection: Connection, folder: Path
    ) -> None:
        """Take over a server process whose files are in ``folder``."""
        self.connection = connection
        self.activity: Activity | None = Activity(innodb_activity.FIELDS, self._asking)
        self.pid = process.pid
        self._threads = ServerThreads(connection, process.pid)
        self.serves = self._threads.serves
        self._process = process
        self._folder = folder

    def place(self, placement: Placement) -> None:
        """Pin the threads that serve clients and the background threads to their processors."""
        self._threads.place(placement.serving, placement.background)

    def settings(self) -> Mapping[str, str]:
        """Return all global variables of the server."""
        with asking(self.connection) as session:
            session.execute("SHOW GLOBAL VARIABLES")
            return {str(name): str(value) for name, value in sorted(session.fetchall())}

    def maintain(self, tables: Sequence[str]) -> None:
        """Analyse every table, purge old row versions, then write all dirty pages.

        maintenance.log has the amount of each kind of deferred work before and after.
        """
        with (
            asking(self.connection) as session,
            (self._folder / "maintenance.log").open("a") as log,
        ):
            for table in tables:
                _analyze(session, table)
            for debt in DEBTS:
                began, before = time.monotonic(), _owed(session, debt)
                with _set_globals(session, debt.at_once):
                    left = _await_payment(session, debt)
                seconds = time.monotonic() - began
                print(f"{debt.name}: {before} before, {left} after {seconds:.1f} s", file=log)

    def database_bytes(self) -> int:
        """Return the size of all files of the workload's database, in bytes."""
        return sum(path.stat().st_size for path in (self._folder / "data" / DATABASE).iterdir())

    def stop(self) -> None:
        """Kill the server. Safe to call twice.

        An orderly shutdown would first write the database to disk, but it is not used again. The
        server is one process and leaves nothing outside of its folder.
        """
        stop_tree(self._process, signal.SIGKILL)

    @contextmanager
    def _asking(self) -> Iterator[Ask]:
        with asking(self.connection) as session:
            yield lambda: innodb_activity.ask(session)


def start(
    name: str,
    command: Callable[[Path, Path], Sequence[str]],
    environment: Mapping[str, str],
    build: Build,
    config: ServerConfig,
    template: Path,
    placement: Placement,
) -> InnoDBServer:
    """Start the server ``name`` on a copy of ``template`` and wait until it answers.

    ``command`` returns the server's command for a data directory and a configuration file. Data,
    socket and log go to the placement's folder.
    """
    folder = placement.folder
    path = folder / SOCKET
    data = prepare(build, template, placement, path)
    file = folder / "my.cnf"
    file.write_text(config.text, encoding="utf-8")
    file.chmod(0o644)  # The server's account must read the file, whatever our umask is.
    connection = Connection(
        driver="mysql",
        socket_dir=str(folder),
        port=placement.port,
        user=USER,
        database=DATABASE,
    )
    arguments = [
        *command(data, file),
        # These options belong to the run, not to the configuration.
        f"--socket={path}",
        f"--bind-address={LOOPBACK}",
        f"--port={placement.port}",
        f"--pid-file={folder}/pid",
        f"--tmpdir={folder}",
    ]
    process = start_process(arguments, placement, environment)

    def answers() -> bool:
        return path.exists() and make_database(connection)

    await_ready(process, name, placement, answers, first_error)
    server = InnoDBServer(process, connection, folder)
    if placement.background:
        try:
            server.place(placement)
        except BaseException:
            server.stop()
            raise
    return server


def _analyze(session: Cursor, table: str) -> None:
    """Collect statistics of a table. Raises ServerError for an error that is reported as a row."""
    session.execute(f"ANALYZE TABLE {quoted(table)}")
    for _, _, kind, message in session.fetchall():
        if str(kind).lower() == "error":
            raise ServerError(str(message))


def _owed(session: Cursor, debt: Debt) -> int:
    session.execute(debt.owed)
    row = session.fetchone()
    if row is None:
        raise ServerError(f"the server does not report the number of {debt.name}")
    return int(row[-1])


def _await_payment(session: Cursor, debt: Debt) -> int:
    """Wait until one kind of deferred work is done or stuck; return the remaining amount."""
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
    """Change global variables of a server while the block runs, then restore them."""
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
