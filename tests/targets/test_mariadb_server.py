"""MariaDB for real: started, asked, maintained, stopped, and failing in every usual way."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pymysql
import pytest

from pipeline.errors import UserError
from pipeline.machine.account import Account
from pipeline.machine.ports import LOOPBACK, free_port
from pipeline.model import Build, Connection, Machine, Provenance, ServerConfig
from pipeline.targets.base import Placement, ServerError, StartError, mysql_protocol, processes
from pipeline.targets.base.innodb import InnoDBServer
from pipeline.targets.base.mysql_log import complaint
from pipeline.targets.base.mysql_protocol import connect
from pipeline.targets.mariadb import MariaDB
from tests.conftest import Release

pytestmark = pytest.mark.integration
TARGET = MariaDB()


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
        self.config = TARGET.config("z12b", release.revision, small)

    def start(
        self,
        port: int = 0,
        config: ServerConfig | None = None,
        processors: tuple[int, ...] = (),
    ) -> InnoDBServer:
        running = TARGET.start(
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
        assert isinstance(running, InnoDBServer)
        return running

    def processes(self) -> list[psutil.Process]:
        """Whatever still runs this stage's programs on its data."""
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if f"--datadir={self.folder / 'data'}" in (process.info["cmdline"] or [])
        ]


@pytest.fixture
def stage(
    mariadb_releases: Callable[[str], Release],
    server_root: Path,
    server_folder: Path,
    account: Account,
    machine: Machine,
) -> Iterator[Callable[[str], Stage]]:
    made: list[Stage] = []

    def make(major: str = "11.4") -> Stage:
        release = mariadb_releases(major)
        template = server_root / "templates" / "mariadb" / release.build.version
        TARGET.template(release.build, template, account)
        made.append(Stage(release, template, server_folder / major, account, machine))
        return made[-1]

    yield make
    left = [process for each in made for process in each.processes()]
    for process in left:
        process.kill()
    assert left == []


Staged = Callable[..., Stage]


def ask(running: InnoDBServer, *statements: str) -> tuple[tuple[object, ...], ...]:
    """Execute statements in one session and return the rows of the last."""
    rows: tuple[tuple[object, ...], ...] = ()
    with connect(running.connection) as session, session.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
            rows = cursor.fetchall()
    return rows


@pytest.mark.parametrize("major", ["10.1", "10.2", "10.11", "11.4"])
def test_a_server_runs_is_maintained_and_leaves_nothing(stage: Staged, major: str) -> None:
    prepared = stage(major)
    running = prepared.start()
    try:
        root = psutil.Process(running.pid)
        settings = running.settings()
        assert settings["version"].startswith(prepared.build.version)
        assert settings["innodb_buffer_pool_size"] == str(640 * 2**20)
        assert settings["innodb_flush_log_at_trx_commit"] == "2"
        assert settings["log_bin"] == "ON"
        assert settings["character_set_server"] == "latin1"
        assert len(settings) > 500
        assert running.database_bytes() < 100_000
        ask(
            running,
            "CREATE TABLE plain (id INT PRIMARY KEY, k INT, KEY (k)) ENGINE = InnoDB",
            "CREATE TABLE `odd `` name` (id INT PRIMARY KEY) ENGINE = InnoDB",
            "INSERT INTO plain SELECT seq, seq FROM (SELECT a.n + 100 * b.n + 10000 * c.n AS seq "
            f"FROM ({_hundred()}) a, ({_hundred()}) b, (SELECT 0 AS n UNION SELECT 1) c) s",
            "DELETE FROM plain WHERE id % 50 = 0",
            "UPDATE plain SET k = k + 1",
        )
        assert running.database_bytes() > 1_000_000
        before = _dirty_limits(running)
        running.maintain(["odd ` name", "plain"])
        assert _dirty_limits(running) == before
        ((dirty,),) = ask(
            running,
            "SELECT variable_value FROM information_schema.global_status "
            "WHERE variable_name = 'innodb_buffer_pool_pages_dirty'",
        )
        assert int(str(dirty)) < 20
        said = (prepared.folder / "maintenance.log").read_text()
        assert "dirty pages: " in said and "row versions to purge: " in said
        assert ", 0 after" in said.splitlines()[1]
    finally:
        running.stop()
    assert not root.is_running()
    assert prepared.processes() == []
    running.stop()


def _hundred() -> str:
    return " UNION ALL ".join(f"SELECT {number} AS n" for number in range(100))


def _dirty_limits(running: InnoDBServer) -> tuple[tuple[object, ...], ...]:
    return ask(running, "SHOW GLOBAL VARIABLES LIKE 'innodb_max_dirty_pages%'")


@pytest.fixture(scope="module")
def shared(
    mariadb_releases: Callable[[str], Release],
    server_root: Path,
    account: Account,
    machine: Machine,
) -> Iterator[InnoDBServer]:
    """One server for what leaves it as it was."""
    release = mariadb_releases("11.4")
    template = server_root / "templates" / "mariadb" / release.build.version
    TARGET.template(release.build, template, account)
    running = Stage(release, template, server_root / "shared-mariadb", account, machine).start()
    yield running
    running.stop()


def test_maintenance_of_a_missing_table_is_not_swallowed(shared: InnoDBServer) -> None:
    with pytest.raises(ServerError, match="doesn't exist"):
        shared.maintain(["no such`; DROP DATABASE sbtest; --"])


def test_loopback_is_open_to_every_user_and_so_refused(shared: InnoDBServer) -> None:
    for user in ("nightshift", "root", ""):
        with pytest.raises(pymysql.err.OperationalError, match=r"not allowed|Access denied"):
            pymysql.connect(host=LOOPBACK, port=shared.connection.port, user=user)
    assert Path(shared.connection.socket_dir).stat().st_mode & 0o077 == 0
    # mariadb.sys owns views and is locked.
    users = set(ask(shared, "SELECT user, host FROM mysql.user"))
    assert users - {("mariadb.sys", "localhost")} == {("nightshift", "localhost")}


def test_it_listens_on_loopback_only(shared: InnoDBServer) -> None:
    listening = {
        str(each.laddr.ip)
        for each in psutil.Process(shared.pid).net_connections("inet")
        if each.status == psutil.CONN_LISTEN
    }
    assert listening == {LOOPBACK}


def test_every_thread_is_pinned_and_not_root(stage: Staged) -> None:
    last = max(os.sched_getaffinity(0))
    prepared = stage()
    running = prepared.start(processors=(last,))
    try:
        process = psutil.Process(running.pid)
        assert process.uids().effective == prepared.account.uid != 0
        threads = [thread.id for thread in process.threads()]
        assert len(threads) > 5
        assert all(os.sched_getaffinity(thread) == {last} for thread in threads)
    finally:
        running.stop()


def test_a_repetition_starts_from_the_empty_database(stage: Staged) -> None:
    prepared = stage()
    running = prepared.start()
    ask(running, "CREATE TABLE left_over (id INT)")
    running.stop()
    running = prepared.start()
    try:
        assert ask(running, "SHOW TABLES") == ()
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
    text = f"{prepared.config.text}innodb_no_such_thing = 1\n"
    with pytest.raises(StartError) as error:
        prepared.start(config=prepared.config.model_copy(update={"text": text}))
    assert "\n" not in str(error.value)
    assert f"MariaDB {prepared.build.version} did not start (" in str(error.value)
    assert "unknown variable 'innodb_no_such_thing=1'" in str(error.value)
    assert prepared.processes() == []


def test_a_loose_option_that_a_release_does_not_know_is_ignored(stage: Staged) -> None:
    prepared = stage()
    text = f"{prepared.config.text}loose_innodb_no_such_thing = 1\n"
    prepared.start(config=prepared.config.model_copy(update={"text": text})).stop()


def test_an_interrupted_start_leaves_nothing(
    stage: Staged, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(connection: Connection) -> None:
        raise KeyboardInterrupt

    prepared = stage()
    monkeypatch.setattr(mysql_protocol, "connect", interrupt)
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


def test_a_server_that_died_is_a_server_error(stage: Staged) -> None:
    prepared = stage()
    running = prepared.start()
    os.kill(running.pid, signal.SIGKILL)
    psutil.Process(running.pid).wait(10)
    for question in (running.settings, lambda: running.maintain(["t"])):
        with pytest.raises(ServerError) as error:
            question()
        assert "\n" not in str(error.value)
    running.stop()


NIGHT = """
import sys
from pathlib import Path
from pipeline.machine.account import find_account
from pipeline.model import Build, ServerConfig
from pipeline.targets.base import StartError, Placement
from pipeline.targets.mariadb import MariaDB
build, config, home, template, folder, port = sys.argv[1:]
running = MariaDB().start(
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
        night.kill()
    _, alive = psutil.wait_procs([root], timeout=20)
    assert alive == []


def test_a_template_is_made_once_and_completely(
    mariadb_releases: Callable[[str], Release], server_folder: Path, account: Account
) -> None:
    build = mariadb_releases("11.4").build
    folder = server_folder / "templates" / "11.4"
    TARGET.template(build, folder, account)
    before = (folder / "ibdata1").stat()
    TARGET.template(build, folder, account)
    assert (folder / "ibdata1").stat() == before
    assert folder.stat().st_uid == account.uid
    assert [path.name for path in folder.parent.iterdir()] == ["11.4"]


def test_a_failed_template_leaves_nothing(server_folder: Path, account: Account) -> None:
    home = server_folder / "home"
    for folder in ("bin", "share"):
        (home / folder).mkdir(parents=True)
    for kind in ("system", "performance"):
        (home / f"share/mariadb_{kind}_tables.sql").touch()
    program = home / "bin/mariadbd"
    program.write_text("#!/bin/sh\necho '2026 0 [ERROR] something is wrong' >&2; exit 1\n")
    program.chmod(0o755)
    build = Build(
        target="mariadb",
        version="11.4.1",
        options="official",
        hash="0",
        provenance=Provenance(source="s", locator="l", sha256="0", options="official"),
        home=home,
    )
    with pytest.raises(StartError, match=r"^mariadbd failed in .* \(something is wrong\)$"):
        TARGET.template(build, server_folder / "t" / "11.4", account)
    assert list((server_folder / "t").iterdir()) == []


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("0 [Note] a\n0 [ERROR] InnoDB: no memory\n0 [ERROR] Aborting\n", "InnoDB: no memory"),
        ("ERROR: 1064  You have an error\n0 [ERROR] Aborting\n", "1064  You have an error"),
        ("0 [ERROR] [MY-012595] [InnoDB] The error means mysqld\n", "The error means mysqld"),
        ("1 [Warning] [MY-1] a\n0 [ERROR] [MY-2] no memory\n", "no memory"),
        ("what happened\n\n", "what happened"),
        ("", ""),
    ],
)
def test_the_reason_is_the_first_error(log: str, expected: str) -> None:
    assert complaint(log) == expected
