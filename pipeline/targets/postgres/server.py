"""A started Postgres server: how it is started, asked, maintained and stopped."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg
from psycopg import sql

from pipeline.errors import UserError, first_line
from pipeline.machine.ports import LOOPBACK, check_port, port_error
from pipeline.model import Build, Connection, ServerConfig
from pipeline.targets.base import Placement, ServerError
from pipeline.targets.postgres.cluster import (
    DATABASE,
    ENVIRONMENT,
    USER,
    copy_template,
    last_complaint,
)

SOCKET_PATH_LIMIT = 107
"""Bytes that the path of a Unix socket may have on Linux."""
READY_POLL = 0.01
"""Seconds between two looks whether the server answers."""
READY_DEADLINE = 60.0
"""Seconds after which a server that does not answer is given up."""
STOP_DEADLINE = 10.0
"""Seconds that a server has to go; it kills its own stragglers after 5."""
KILL_DEADLINE = 10.0
"""Seconds to wait until the kernel has cleared away what was killed."""
INDEX_CLEANUP_FROM = 12

_Row = tuple[Any, ...]


class PostgresServer:
    """One running server. Made by :func:`start`."""

    def __init__(
        self, process: subprocess.Popen[bytes], connection: Connection, folder: Path, major: int
    ) -> None:
        """Take over a started ``process`` whose files are in ``folder``."""
        self.connection = connection
        self.pid = process.pid
        self._process = process
        self._folder = folder
        self._major = major

    def settings(self) -> Mapping[str, str]:
        """Return pg_settings, with units, as ``16384 8kB``, and how the server was compiled.

        The names of the latter begin with ``pg_config.``: a build of other flags is another
        server, and a change of packaging must not pass for one of the code.
        """
        with self._session() as session:
            rows = session.execute(
                "SELECT name, concat_ws(' ', setting, unit) FROM pg_settings "
                "UNION ALL SELECT 'pg_config.' || name, setting FROM pg_config "
                "WHERE name IN ('CC', 'CFLAGS', 'CFLAGS_SL', 'CPPFLAGS', 'LDFLAGS', 'CONFIGURE')"
            )
            return {str(name): str(value) for name, value in sorted(rows)}

    def maintain(self, tables: Sequence[str]) -> None:
        """Vacuum and analyse every table, indexes included, then make a checkpoint.

        Without INDEX_CLEANUP, Postgres 14 and later skip indexes with few dead rows, and
        later reads pay for them. Nor does VACUUM mark a page as visible to all before the
        commits in it are on storage, which with synchronous_commit = off takes up to 0.6 s, and
        later index-only scans pay for that; so the log is flushed first, by a commit that
        waits. What VACUUM says is kept in vacuum.log.
        """
        options = "VERBOSE, ANALYZE"
        if self._major >= INDEX_CLEANUP_FROM:
            options += ", INDEX_CLEANUP ON"
        with self._session() as session, (self._folder / "vacuum.log").open("a") as log:
            session.add_notice_handler(lambda notice: print(notice.message_primary, file=log))
            session.execute("SET synchronous_commit = on")
            session.execute("SELECT pg_logical_emit_message(true, 'nightshift', 'flush')")
            for table in tables:
                session.execute(
                    sql.SQL("VACUUM ({}) {}").format(sql.SQL(options), sql.Identifier(table))
                )
            session.execute("CHECKPOINT")

    def database_bytes(self) -> int:
        """Return the size of the workload's database."""
        with self._session() as session:
            row = session.execute("SELECT pg_database_size(current_database())").fetchone()
        if row is None:
            raise RuntimeError("pg_database_size returned no row")
        return int(row[0])

    def stop(self) -> None:
        """Stop the server at once, as an immediate shutdown, and all of its processes.

        The database is not used again, so nothing is written for it. Safe to call twice.
        """
        stop_tree(self._process)

    @contextmanager
    def _session(self) -> Iterator[psycopg.Connection[_Row]]:
        try:
            with connect(self.connection) as session:
                yield session
        except psycopg.Error as error:
            raise ServerError(first_line(error)) from error


def connect(connection: Connection) -> psycopg.Connection[_Row]:
    """Return a session that commits every statement."""
    return psycopg.connect(
        host=connection.socket_dir,
        port=connection.port,
        user=connection.user,
        dbname=connection.database,
        autocommit=True,
        connect_timeout=10,
    )


def start(
    build: Build, config: ServerConfig, template: Path, placement: Placement
) -> PostgresServer:
    """Start a server on a copy of ``template`` and wait until it answers.

    Data, socket and log (server.log) go to the placement's folder. Call it from a thread that
    outlives the server: the kernel ends the server with that thread, so that a killed night
    leaves none behind.
    """
    folder = placement.folder
    check_socket_path(folder, placement.port)
    check_port(placement.port)
    placement.account.check_reach(build.home)
    placement.account.own(folder)
    placement.account.check_reach(folder.parent)
    data, log = folder / "data", folder / "server.log"
    copy_template(template, data, placement.account)
    (data / "postgresql.conf").write_text(config.text, encoding="utf-8")
    connection = Connection(
        driver="pgsql",
        socket_dir=str(folder),
        port=placement.port,
        user=USER,
        database=DATABASE,
    )
    with log.open("wb") as output:
        process = subprocess.Popen(
            placement.account.command(
                *server_command(build, data, connection), processors=placement.processors
            ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=dict(ENVIRONMENT),
            # Its own session: ctrl-C on the terminal is ours to act on.
            start_new_session=True,
        )
    try:
        _await_ready(process, connection, log, build.version)
    except BaseException:
        stop_tree(process)
        raise
    return PostgresServer(process, connection, folder, int(build.version.split(".")[0]))


def server_command(build: Build, data: Path, connection: Connection) -> list[str]:
    """Return the command that runs the server; what is given here belongs to the run."""
    options = {
        "listen_addresses": LOOPBACK,
        "port": str(connection.port),
        "unix_socket_directories": connection.socket_dir,
    }
    command = [f"{build.home}/bin/postgres", "-D", str(data)]
    for name, value in options.items():
        command += ["-c", f"{name}={value}"]
    return command


def check_socket_path(folder: Path, port: int) -> None:
    """Refuse a folder in which the server could not make its socket."""
    socket = folder / f".s.PGSQL.{port}"
    excess = len(bytes(socket)) - SOCKET_PATH_LIMIT
    if excess > 0:
        raise UserError(
            f"{folder} is {excess} characters too long for a Unix socket; set paths.cache in "
            "nightshift.toml to a folder with a shorter name"
        )
    if "," in str(folder):
        raise UserError(
            f"{folder} has a comma in its name, which Postgres takes for a list of folders; set "
            "paths.cache in nightshift.toml to another"
        )


def _await_ready(
    process: subprocess.Popen[bytes], connection: Connection, log: Path, version: str
) -> None:
    socket = Path(connection.socket_dir) / f".s.PGSQL.{connection.port}"
    deadline = time.monotonic() + READY_DEADLINE
    while True:
        if socket.exists():
            # Until recovery and start are over it accepts and refuses at once.
            with contextlib.suppress(psycopg.OperationalError):
                connect(connection).close()
                return
        if process.poll() is not None:
            raise start_error(log.read_text(errors="replace"), connection.port, version, log)
        if time.monotonic() > deadline:
            raise UserError(
                f"Postgres {version} did not answer within {READY_DEADLINE:.0f} s; its log is {log}"
            )
        time.sleep(READY_POLL)


def start_error(text: str, port: int, version: str, log: Path) -> UserError:
    """Return the one line for a server that ended while it started, from its log."""
    if "Address already in use" in text:
        return port_error(port, OSError(0, "Address already in use"))
    why = last_complaint(text) or "it said nothing"
    return UserError(f"Postgres {version} did not start ({why}); its log is {log}")


def stop_tree(process: subprocess.Popen[bytes]) -> None:
    """End a server and every process below it, politely for a while and then not."""
    tree: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        tree = psutil.Process(process.pid).children(recursive=True)
    if process.poll() is None:
        process.send_signal(signal.SIGQUIT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_DEADLINE)
    _, left = psutil.wait_procs(tree, timeout=1.0 if process.poll() is not None else 0.0)
    if process.poll() is None:
        process.kill()
        process.wait()
    for straggler in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            straggler.kill()
    psutil.wait_procs(left, timeout=KILL_DEADLINE)
