"""Postgres for real: started, asked, maintained, stopped, and failing in every usual way."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from pipeline.machine.account import Account
from pipeline.machine.ports import LOOPBACK
from pipeline.model import Build, Connection, Machine, Provenance, ServerConfig
from pipeline.targets.base import Placement, ServerError, StartError, processes
from pipeline.targets.base.processes import check_socket_path, start_error
from pipeline.targets.postgres import Postgres, server
from pipeline.targets.postgres.cluster import initdb_command, last_complaint, start_complaint
from pipeline.targets.postgres.server import PostgresServer, check_folder
from pipeline.text.errors import UserError
from tests.conftest import Release, RunningPostgres
from tests.ports import free_port

TARGET = Postgres()


class Stage:
    """A release with its template, ready to be started in a folder of its own."""

    def __init__(
        self, release: Release, template: Path, folder: Path, account: Account, machine: Machine
    ) -> None:
        self.build = release.build
        self.template = template
        self.folder = folder
        self.account = account
        small = machine.model_copy(update={"memory_bytes": 2**30})
        self.config = TARGET.config("x10a", release.revision, small)

    def start(
        self,
        port: int = 0,
        config: ServerConfig | None = None,
        processors: tuple[int, ...] = (),
    ) -> PostgresServer:
        return TARGET.start(
            self.build,
            config or self.config,
            self.template,
            Placement(
                folder=self.folder,
                port=port or free_port(),
                processors=processors,
                account=self.account,
            ),
        )

    def leaking_nothing(self) -> ServerConfig:
        """The configuration for a server that will be killed: no files in /dev/shm."""
        text = f"{self.config.text}dynamic_shared_memory_type = mmap\n"
        return self.config.model_copy(update={"text": text})

    def remove_segment(self) -> None:
        """Remove the memory segment of a killed server, named by its lock file's line 7."""
        lock = (self.folder / "data/postmaster.pid").read_text().splitlines()
        subprocess.run(["ipcrm", "-m", lock[6].split()[1]], check=True)

    def processes(self) -> list[psutil.Process]:
        """Whatever still runs this stage's programs on its data."""
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if str(self.folder / "data") in (process.info["cmdline"] or [])
        ]


@pytest.fixture
def stage(
    releases: Callable[[str], Release],
    server_root: Path,
    server_folder: Path,
    account: Account,
    machine: Machine,
) -> Iterator[Callable[[str], Stage]]:
    made: list[Stage] = []

    def make(major: str = "17") -> Stage:
        release = releases(major)
        template = server_root / "templates" / release.build.version
        TARGET.template(release.build, template, account)
        made.append(Stage(release, template, server_folder / major, account, machine))
        return made[-1]

    yield make
    left = [process for each in made for process in each.processes()]
    for process in left:
        process.kill()
    assert left == []


Staged = Callable[..., Stage]


def session(running: PostgresServer) -> psycopg.Connection[tuple[object, ...]]:
    where = running.connection
    return psycopg.connect(
        host=where.socket_dir,
        port=where.port,
        user=where.user,
        dbname=where.database,
        autocommit=True,
    )


def descendants(running: PostgresServer) -> list[psutil.Process]:
    root = psutil.Process(running.pid)
    return [root, *root.children(recursive=True)]


@pytest.mark.parametrize("major", ["12", "14", "17", "18"])
def test_a_server_runs_is_maintained_and_leaves_nothing(stage: Staged, major: str) -> None:
    prepared = stage(major)
    running = prepared.start()
    try:
        family = descendants(running)
        assert len(family) > 3
        settings = running.settings()
        assert "-O" in settings["pg_config.CFLAGS"]
        assert settings["server_version"] == prepared.build.version
        assert settings["shared_buffers"] == f"{736 * 1024 // 8} 8kB"
        assert settings["synchronous_commit"] == "off"
        assert settings["data_checksums"] == "off"
        assert settings["server_encoding"] == "UTF8"
        assert settings["listen_addresses"] == LOOPBACK
        assert len(settings) > 300
        empty = running.database_bytes()
        with session(running) as client:
            client.execute('CREATE TABLE "odd "" name" AS SELECT generate_series(1, 50000) AS id')
            client.execute("CREATE TABLE plain AS SELECT generate_series(1, 50000) AS id")
            client.execute("CREATE INDEX ON plain (id)")
            client.execute("DELETE FROM plain WHERE id % 50 = 0")
            assert running.database_bytes() > empty + 2_000_000
            running.maintain(['odd " name', "plain"])
            pages = client.execute(
                "SELECT relallvisible = relpages, reltuples FROM pg_class"
                " WHERE relname IN ('plain', 'odd \" name') ORDER BY relname"
            ).fetchall()
        assert pages == [(True, 50000), (True, 49000)]
        said = (prepared.folder / "vacuum.log").read_text()
        assert "plain_id_idx" in said, "the index was skipped"
    finally:
        running.stop()
    assert not any(process.is_running() for process in family)
    assert prepared.processes() == []
    running.stop()


def test_maintenance_of_a_missing_table_is_not_swallowed(postgres_server: RunningPostgres) -> None:
    with pytest.raises(ServerError, match="does not exist"):
        postgres_server.server.maintain(['no such"; DROP DATABASE sbtest; --'])


def test_loopback_is_open_to_every_user_and_so_refused(postgres_server: RunningPostgres) -> None:
    with pytest.raises(psycopg.OperationalError, match="rejects connection"):
        psycopg.connect(
            host=LOOPBACK,
            port=postgres_server.port,
            user=postgres_server.user,
            dbname=postgres_server.database,
        )
    assert postgres_server.socket_dir.stat().st_mode & 0o077 == 0


def test_every_process_is_pinned_and_not_root(stage: Staged) -> None:
    last = max(os.sched_getaffinity(0))
    prepared = stage()
    running = prepared.start(processors=(last,))
    try:
        seen = 0
        for process in descendants(running):
            # Short-lived workers come and go while this looks.
            with contextlib.suppress(psutil.NoSuchProcess):
                assert process.cpu_affinity() == [last]
                assert process.uids().effective == prepared.account.uid != 0
                seen += 1
        assert seen > 1
    finally:
        running.stop()


def test_a_repetition_starts_from_the_empty_database(stage: Staged) -> None:
    prepared = stage()
    running = prepared.start()
    with session(running) as client:
        client.execute("CREATE TABLE left_over (id int)")
    running.stop()
    running = prepared.start()
    try:
        with session(running) as client:
            found = client.execute("SELECT count(*) FROM pg_stat_user_tables").fetchone()
        assert found == (0,)
    finally:
        running.stop()


def test_a_port_in_use_is_one_line(stage: Staged) -> None:
    prepared = stage()
    with socket.socket() as other:
        other.bind((LOOPBACK, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UserError, match=rf"^port {port} on 127\.0\.0\.1 is in use; ") as error:
            prepared.start(port)
    assert "\n" not in str(error.value)
    assert prepared.processes() == []


def test_a_port_taken_at_the_last_moment_is_the_same_line(
    stage: Staged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "check_port", lambda port: None)
    test_a_port_in_use_is_one_line(stage)


def test_a_server_that_refuses_its_configuration_says_why(stage: Staged) -> None:
    prepared = stage()
    wrong = prepared.config.model_copy(
        update={"text": prepared.config.text + "shared_buffers = much\n"}
    )
    with pytest.raises(StartError) as error:
        prepared.start(config=wrong)
    assert "\n" not in str(error.value)
    assert f"Postgres {prepared.build.version} did not start (" in str(error.value)
    assert 'invalid value for parameter "shared_buffers"' in str(error.value)
    assert prepared.processes() == []


def test_a_build_without_io_uring_says_what_to_do(
    stage: Staged, releases: Callable[[str], Release], machine: Machine
) -> None:
    prepared = stage("18")
    config = TARGET.config("x10d", releases("18").revision, machine)
    if b"liburing" in (prepared.build.home / "bin/postgres").read_bytes():
        pytest.skip("this build has io_uring")
    with pytest.raises(StartError) as caught:
        prepared.start(config=config)
    assert str(caught.value) == (
        f"Postgres {prepared.build.version} did not start (this build has no io_uring; compile it "
        'with [[build]] configure = ["--with-liburing"] and the package liburing-dev, or choose '
        "config x10b or x10c)"
    )


def test_an_interrupted_start_leaves_nothing(
    stage: Staged, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(connection: Connection) -> None:
        raise KeyboardInterrupt

    prepared = stage()
    monkeypatch.setattr(server, "connect", interrupt)
    with pytest.raises(KeyboardInterrupt):
        prepared.start()
    assert prepared.processes() == []


def test_a_server_that_never_answers_is_given_up(
    stage: Staged, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = stage()
    monkeypatch.setattr(processes, "READY_DEADLINE", -1.0)
    with pytest.raises(StartError, match="did not answer within"):
        prepared.start()
    assert prepared.processes() == []


def test_a_killed_server_is_cleared_away(stage: Staged) -> None:
    prepared = stage()
    running = prepared.start(config=prepared.leaking_nothing())
    family = descendants(running)
    os.kill(running.pid, signal.SIGKILL)
    running.stop()
    psutil.wait_procs(family, timeout=60)
    prepared.remove_segment()
    assert prepared.processes() == []


def test_a_server_that_does_not_listen_is_killed(
    stage: Staged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "STOP_DEADLINE", 0.2)
    prepared = stage()
    running = prepared.start(config=prepared.leaking_nothing())
    family = descendants(running)
    try:
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.suspend()
    finally:
        running.stop()
    prepared.remove_segment()
    assert not any(process.is_running() for process in family)


NIGHT = """
import sys
from pathlib import Path
from pipeline.machine.account import find_account
from pipeline.model import Build, ServerConfig
from pipeline.targets.base import StartError, Placement
from pipeline.targets.postgres import Postgres
build, config, home, template, folder, port = sys.argv[1:]
running = Postgres().start(
    Build.model_validate_json(build).model_copy(update={"home": Path(home)}),
    ServerConfig.model_validate_json(config),
    Path(template),
    Placement(folder=Path(folder), port=int(port), processors=(), account=find_account()),
)
sys.stdout.write(f"{running.pid}\\n")
sys.stdout.flush()
sys.stdin.read()
"""


def test_a_killed_night_leaves_no_server(stage: Staged) -> None:
    prepared = stage()
    arguments = [
        *(prepared.build.model_dump_json(), prepared.config.model_dump_json()),
        *(prepared.build.home, prepared.template, prepared.folder, free_port()),
    ]
    night = subprocess.Popen(
        [sys.executable, "-c", NIGHT, *map(str, arguments)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with night:
        assert night.stdout is not None
        root = psutil.Process(int(night.stdout.readline()))
        family = [root, *root.children(recursive=True)]
        night.kill()
    _, alive = psutil.wait_procs(family, timeout=60)
    assert alive == []


def test_a_template_is_made_once_and_completely(
    releases: Callable[[str], Release], server_folder: Path, account: Account
) -> None:
    build = releases("17").build
    folder = server_folder / "templates" / "17"
    TARGET.template(build, folder, account)
    control = folder / "global/pg_control"
    before = control.stat()
    TARGET.template(build, folder, account)
    assert control.stat() == before
    assert folder.stat().st_uid == account.uid
    assert [path.name for path in folder.parent.iterdir()] == ["17"]


def test_a_failed_template_leaves_nothing(server_folder: Path, account: Account) -> None:
    home = server_folder / "home"
    (home / "bin").mkdir(parents=True)
    initdb = home / "bin/initdb"
    initdb.write_text("#!/bin/sh\nmkdir $2; echo 'initdb: error: something is wrong' >&2; exit 1\n")
    initdb.chmod(0o755)
    with pytest.raises(StartError, match=r"^initdb failed in .* \(something is wrong\)$"):
        TARGET.template(fake_build("17.1", home), server_folder / "t" / "17", account)
    assert list((server_folder / "t").iterdir()) == []
    initdb.write_text("#!/bin/sh\necho 'initdb: error: No space left on device' >&2; exit 1\n")
    with pytest.raises(UserError, match="no space left in"):
        TARGET.template(fake_build("17.1", home), server_folder / "t" / "17", account)


def fake_build(version: str, home: Path, reported: str = "") -> Build:
    return Build(
        target="postgres",
        version=version,
        options="official",
        hash="0",
        provenance=Provenance(
            source="s", locator="l", sha256="0", options="official", reported_version=reported
        ),
        home=home,
    )


@pytest.mark.parametrize(("version", "expected"), [("17.11", False), ("18.0", True)])
def test_checksums_are_off_in_every_major(version: str, expected: bool) -> None:
    command = initdb_command(fake_build(version, Path("/x")), Path("/y"))
    assert ("--no-data-checksums" in command) is expected


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ("postgres (PostgreSQL) 15.18", False),
        ("postgres (PostgreSQL) 17.11 (Debian 17.11-1)", False),
        ("postgres (PostgreSQL) 19devel", True),
    ],
)
@pytest.mark.parametrize("commit", ["05bcf3ef2771", "123456789012"])
def test_a_commit_has_the_major_that_it_reports(commit: str, reported: str, expected: bool) -> None:
    command = initdb_command(fake_build(commit, Path("/x"), reported), Path("/y"))
    assert ("--no-data-checksums" in command) is expected


def test_a_folder_too_long_for_a_socket_is_refused() -> None:
    fits = Path("/") / ("x" * (107 - len("//.s.PGSQL.5432")))
    check_socket_path(fits / ".s.PGSQL.5432")
    with pytest.raises(UserError, match="is 1 characters too long for a Unix socket"):
        check_socket_path(Path(f"{fits}x") / ".s.PGSQL.5432")
    with pytest.raises(UserError, match="comma"):
        check_folder(Path("/a,b"))


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("LOG: a\nFATAL:  could not map: no memory\nHINT:  less\nLOG: bye\n", "no memory; less"),
        ("FATAL:  first\nPANIC:  second\nLOG:  the end\n", "second"),
        ('LOG:  no "x"\nHINT:  y\nFATAL:  configuration file "f" contains errors', 'no "x"; y'),
        ("what happened\n\n", "what happened"),
        ("", "no output"),
    ],
)
def test_the_reason_is_taken_from_the_log(log: str, expected: str) -> None:
    line = str(start_error(log, 5432, "Postgres 17.1", last_complaint))
    assert f"{expected})" in line
    assert "\n" not in line


def test_a_kernel_that_refuses_io_uring_is_told_with_the_remedy() -> None:
    said = start_complaint("FATAL:  could not setup io_uring queue: Operation not permitted\n")
    assert said.startswith("could not setup io_uring queue: Operation not permitted; the kernel")
    assert "kernel.io_uring_disabled to 0" in said


def test_the_last_complaint_of_a_program() -> None:
    assert last_complaint("initdb: error: no\n") == "no"
    assert last_complaint("") == ""
