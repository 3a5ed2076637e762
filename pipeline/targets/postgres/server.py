"""A Postgres server: start it, query it, maintain it, stop it."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from pipeline.machine.ports import LOOPBACK
from pipeline.model import Build, Connection, ServerConfig
from pipeline.targets.base import Activity, Ask, Placement, ServerError
from pipeline.targets.base.processes import await_ready, prepare, start_process, stop_tree
from pipeline.targets.base.templates import DATABASE, USER
from pipeline.targets.postgres import activity, processes
from pipeline.targets.postgres.cluster import start_complaint
from pipeline.targets.postgres.releases import major_of
from pipeline.text.errors import UserError, first_line

INDEX_CLEANUP_FROM = 12

_Row = tuple[Any, ...]


class PostgresServer:
    """A running Postgres server, returned by :func:`start`."""

    def __init__(
        self, process: subprocess.Popen[bytes], connection: Connection, folder: Path, major: int
    ) -> None:
        """Take over a server process whose files are in ``folder``."""
        self.connection = connection
        self.activity: Activity | None = Activity(activity.fields(major), self._asking)
        self.serves = processes.serves
        self.pid = process.pid
        self._process = process
        self._folder = folder
        self._major = major

    def settings(self) -> Mapping[str, str]:
        """Return the server's settings with their units (``16384 8kB``), and its build options.

        The names of build options begin with ``pg_config.``; they are included because compiler
        flags change the server. Everything else in pg_config is left out: a change of packaging
        must not look like a change of the code.
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

        Without INDEX_CLEANUP, Postgres 14 and later skip indexes with few dead rows, and later
        reads pay for them. VACUUM does not mark a page as all-visible before the commits in it are
        on storage, which with synchronous_commit = off takes up to 0.6 s; later index-only scans
        would pay for that. So a synchronous commit flushes the WAL first. vacuum.log has the output
        of VACUUM.
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
        """Return the size of the workload's database in bytes."""
        with self._session() as session:
            row = session.execute("SELECT pg_database_size(current_database())").fetchone()
        if row is None:
            raise RuntimeError("pg_database_size returned no row")
        return int(row[0])

    def stop(self) -> None:
        """Stop the server at once (immediate shutdown), with all of its processes.

        The database is not used again, so nothing is written for it. Safe to call twice.
        """
        stop_tree(self._process)

    @contextmanager
    def _asking(self) -> Iterator[Ask]:
        with self._session() as session:
            yield lambda: activity.ask(session, self._major)

    @contextmanager
    def _session(self) -> Iterator[psycopg.Connection[_Row]]:
        try:
            with connect(self.connection) as session:
                yield session
        except psycopg.Error as error:
            raise ServerError(first_line(error)) from error


def connect(connection: Connection) -> psycopg.Connection[_Row]:
    """Open a session with a Postgres server; every statement commits."""
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
    """Start a Postgres server on a copy of the empty database, and wait until it answers.

    Data, socket and log go to the placement's folder.
    """
    folder = placement.folder
    check_folder(folder)
    socket = folder / f".s.PGSQL.{placement.port}"
    data = prepare(build, template, placement, socket)
    (data / "postgresql.conf").write_text(config.text, encoding="utf-8")
    connection = Connection(
        driver="pgsql",
        socket_dir=str(folder),
        port=placement.port,
        user=USER,
        database=DATABASE,
    )

    def answers() -> bool:
        if socket.exists():
            # Until recovery and start are complete it accepts connections and refuses them at once.
            with contextlib.suppress(psycopg.OperationalError):
                connect(connection).close()
                return True
        return False

    process = start_process(server_command(build, data, connection), placement)
    await_ready(process, f"Postgres {build.version}", placement, answers, start_complaint)
    return PostgresServer(process, connection, folder, major_of(build))


def server_command(build: Build, data: Path, connection: Connection) -> list[str]:
    """Return the command that runs a Postgres server with the options of this run."""
    options = {
        "listen_addresses": LOOPBACK,
        "port": str(connection.port),
        "unix_socket_directories": connection.socket_dir,
    }
    command = [f"{build.home}/bin/postgres", "-D", str(data)]
    for name, value in options.items():
        command += ["-c", f"{name}={value}"]
    return command


def check_folder(folder: Path) -> None:
    """Raise UserError for a folder that Postgres cannot use for its socket."""
    if "," in str(folder):
        raise UserError(
            f"{folder} has a comma in its name, which Postgres reads as a list of folders; set "
            "paths.cache in nightshift.toml to a folder without a comma"
        )
