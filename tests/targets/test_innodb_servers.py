"""MySQL and MariaDB for real: started, asked, maintained, stopped, and failing as they do."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import psutil
import pymysql
import pytest

from pipeline.machine.account import Account
from pipeline.machine.ports import LOOPBACK
from pipeline.model import Build, Connection, FieldKind, Machine, Provenance, ServerConfig
from pipeline.targets import find_target
from pipeline.targets.base import Placement, ServerError, StartError, innodb, processes
from pipeline.targets.base.innodb import InnoDBServer
from pipeline.targets.base.mysql_log import first_error
from pipeline.targets.base.mysql_protocol import connect
from pipeline.text.errors import UserError
from tests.conftest import Release
from tests.ports import free_port

FAMILIES = {"mariadb": "small", "mysql": "small"}
NAMES = {"mariadb": "MariaDB", "mysql": "MySQL"}
SERVERS = (
    *(("mariadb", major) for major in ("10.1", "10.2", "10.11", "11.4")),
    *(("mysql", major) for major in ("5.6", "9")),
)
"""Every server that is installed differently, or configured differently for the same."""
NEWEST = (("mariadb", "11.4"), ("mysql", "9"))
ONE = NEWEST[:1]
"""The one that starts sooner, where the code is that of both."""


class Stage:
    """A release with its template, ready to be started in a folder of its own."""

    def __init__(
        self, release: Release, template: Path, folder: Path, account: Account, machine: Machine
    ) -> None:
        self.build = release.build
        self.target = find_target(self.build.target)
        self.template = template
        self.folder = folder
        self.account = account
        self._revision = release.revision
        self._machine = machine.model_copy(update={"memory_bytes": 2**30})
        self.config = self.configured(FAMILIES[self.target.name])

    def configured(self, family: str) -> ServerConfig:
        """A family's configuration, for a small machine."""
        return self.target.config(family, self._revision, self._machine)

    def start(
        self,
        port: int = 0,
        config: ServerConfig | None = None,
        processors: tuple[int, ...] = (),
    ) -> InnoDBServer:
        running = self.target.start(
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


Staged = Callable[[tuple[str, str], Path], Stage]


@pytest.fixture(scope="module")
def staged(
    releases_of: Callable[[str, str], Release],
    server_root: Path,
    account: Account,
    machine: Machine,
) -> Staged:
    """Make the stage of a target's major in a folder."""

    def make(server: tuple[str, str], folder: Path) -> Stage:
        target, major = server
        release = releases_of(target, major)
        template = server_root / "templates" / target / release.build.version
        find_target(target).template(release.build, template, account)
        return Stage(release, template, folder, account, machine)

    return make


@pytest.fixture
def stage(request: pytest.FixtureRequest, staged: Staged, server_folder: Path) -> Iterator[Stage]:
    """The stage of a server that the test is parametrised with."""
    made = staged(request.param, server_folder / "run")
    yield made
    left = made.processes()
    for process in left:
        process.kill()
    assert left == []


def on(servers: Sequence[tuple[str, str]]) -> pytest.MarkDecorator:
    """Run a test on each of these servers."""
    return pytest.mark.parametrize("stage", servers, indirect=True, ids="-".join)


def ask(running: InnoDBServer, *statements: str) -> tuple[tuple[object, ...], ...]:
    """Execute statements in one session and return the rows of the last."""
    rows: tuple[tuple[object, ...], ...] = ()
    with connect(running.connection) as session, session.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
            rows = cursor.fetchall()
    return rows


NEVER_TOLD = {"5.6": {"dbms.checkpoint_age"}, "10.2": {"dbms.checkpoint_age"}}
"""Figures of the newest releases that a release does not keep."""


def reports_its_work(running: InnoDBServer, version: str) -> None:
    """Check every figure of a server's activity while it works."""
    assert running.activity is not None
    declared = {field.name for field in running.activity.fields}
    counters = {f.name for f in running.activity.fields if f.kind is FieldKind.COUNTER}
    with running.activity.session() as activity:
        before = activity()
        never = NEVER_TOLD.get(".".join(version.split(".")[:2]), set())
        assert declared - before.keys() <= never
        with connect(running.connection) as old, old.cursor() as reader:
            ask(
                running,
                "CREATE TABLE busy (id INT PRIMARY KEY, filler CHAR(200)) ENGINE=InnoDB",
                "INSERT INTO busy VALUES (1, 'a')",
            )
            # Purge keeps the row versions that this snapshot may yet read.
            reader.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            reader.execute("SELECT filler FROM busy")
            updates = [f"UPDATE busy SET filler = 'v{n}' WHERE id = 1" for n in range(100)]
            after: Mapping[str, float] = {}
            deadline = time.monotonic() + 120
            # Dirty pages are written while nobody works.
            while not after.get("dbms.dirty_pages"):
                assert time.monotonic() < deadline
                ask(running, *updates)
                after = activity()
            assert after["dbms.history_length"] >= 100
            # The log has both versions' difference at least.
            assert after["dbms.log_bytes"] > before["dbms.log_bytes"] + 100
            for name in counters & after.keys():
                assert after[name] >= before[name], name
            if "dbms.checkpoint_age" in after:
                assert 0 < after["dbms.checkpoint_age"] < 2**30


@on(SERVERS)
def test_a_server_runs_is_maintained_and_leaves_nothing(stage: Stage) -> None:
    running = stage.start()
    try:
        root = psutil.Process(running.pid)
        settings = running.settings()
        assert settings["version"].startswith(stage.build.version)
        assert settings["innodb_buffer_pool_size"] == str(640 * 2**20)
        assert settings["innodb_flush_log_at_trx_commit"] == "2"
        assert settings["log_bin"] == "ON"
        if stage.build.target == "mariadb":
            assert settings["have_ssl"] == "DISABLED", "no key is made at every start"
        assert settings["character_set_server"] == "latin1"
        assert len(settings) > 400
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
        # Not the character set that releases make databases with by themselves.
        made = "SELECT table_collation FROM information_schema.tables WHERE table_name = 'plain'"
        assert ask(running, made) == (("latin1_swedish_ci",),)
        before = _dirty_limits(running)
        running.maintain(["odd ` name", "plain"])
        assert _dirty_limits(running) == before
        ((_, dirty),) = ask(running, "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")
        assert int(str(dirty)) < 20
        said = (stage.folder / "maintenance.log").read_text()
        assert "dirty pages: " in said and "row versions to purge: " in said
        assert ", 0 after" in said.splitlines()[1]
        reports_its_work(running, stage.build.version)
    finally:
        running.stop()
    assert not root.is_running()
    assert stage.processes() == []
    running.stop()
    assert running.activity is not None
    with pytest.raises(ServerError), running.activity.session() as gone:
        gone()


def _hundred() -> str:
    return " UNION ALL ".join(f"SELECT {number} AS n" for number in range(100))


def _dirty_limits(running: InnoDBServer) -> tuple[tuple[object, ...], ...]:
    return ask(running, "SHOW GLOBAL VARIABLES LIKE 'innodb_max_dirty_pages%'")


@pytest.fixture(scope="module", params=NEWEST, ids="-".join)
def shared(
    request: pytest.FixtureRequest, staged: Staged, server_root: Path
) -> Iterator[InnoDBServer]:
    """One server for what leaves it as it was."""
    running = staged(request.param, server_root / f"shared-{request.param[0]}").start()
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
    users = ask(shared, "SELECT user, host FROM mysql.user")
    # Users like mysql.sys own views and are locked.
    assert [user for user in users if "." not in str(user[0])] == [("nightshift", "localhost")]


def test_it_listens_on_loopback_only(shared: InnoDBServer) -> None:
    listening = {
        str(each.laddr.ip)
        for each in psutil.Process(shared.pid).net_connections("inet")
        if each.status == psutil.CONN_LISTEN
    }
    assert listening == {LOOPBACK}


@on([("mysql", "9")])
@pytest.mark.parametrize(("family", "mode"), [("small_gtid", "ON"), ("small_nogtid", "OFF")])
def test_a_family_decides_on_global_identifiers(stage: Stage, family: str, mode: str) -> None:
    running = stage.start(config=stage.configured(family))
    try:
        settings = running.settings()
    finally:
        running.stop()
    assert settings["gtid_mode"] == settings["enforce_gtid_consistency"] == mode


@on(NEWEST)
def test_every_thread_is_pinned_and_not_root(stage: Stage) -> None:
    last = max(os.sched_getaffinity(0))
    running = stage.start(processors=(last,))
    try:
        process = psutil.Process(running.pid)
        assert process.uids().effective == stage.account.uid != 0
        threads = [thread.id for thread in process.threads()]
        assert len(threads) > 5
        assert all(os.sched_getaffinity(thread) == {last} for thread in threads)
    finally:
        running.stop()


@on(ONE)
def test_a_repetition_starts_from_the_empty_database(stage: Stage) -> None:
    running = stage.start()
    ask(running, "CREATE TABLE left_over (id INT)")
    running.stop()
    running = stage.start()
    try:
        assert ask(running, "SHOW TABLES") == ()
    finally:
        running.stop()


@on(NEWEST)
def test_a_port_in_use_is_one_line(stage: Stage) -> None:
    with socket.socket() as other:
        other.bind((LOOPBACK, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UserError, match=rf"^port {port} on 127\.0\.0\.1 is in use; ") as error:
            stage.start(port)
    assert "\n" not in str(error.value)
    assert stage.processes() == []


@on(ONE)
def test_a_port_taken_at_the_last_moment_is_the_same_line(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "check_port", lambda port: None)
    test_a_port_in_use_is_one_line(stage)


@on(NEWEST)
def test_a_server_that_refuses_its_configuration_says_why(stage: Stage) -> None:
    text = f"{stage.config.text}innodb_no_such_thing = 1\n"
    with pytest.raises(StartError) as error:
        stage.start(config=stage.config.model_copy(update={"text": text}))
    assert "\n" not in str(error.value)
    assert f"{NAMES[stage.target.name]} {stage.build.version} did not start (" in str(error.value)
    assert "unknown variable 'innodb_no_such_thing=1'" in str(error.value)
    assert stage.processes() == []


@on(NEWEST)
def test_a_loose_option_that_a_release_does_not_know_is_ignored(stage: Stage) -> None:
    text = f"{stage.config.text}loose_innodb_no_such_thing = 1\n"
    stage.start(config=stage.config.model_copy(update={"text": text})).stop()


@on(ONE)
def test_an_interrupted_start_leaves_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(connection: Connection) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(innodb, "make_database", interrupt)
    with pytest.raises(KeyboardInterrupt):
        stage.start()
    assert stage.processes() == []


@on(ONE)
def test_a_server_that_never_answers_is_given_up(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "READY_DEADLINE", -1.0)
    with pytest.raises(StartError, match="did not answer within"):
        stage.start()
    assert stage.processes() == []


@on(ONE)
def test_a_server_that_died_is_a_server_error(stage: Stage) -> None:
    running = stage.start()
    os.kill(running.pid, signal.SIGKILL)
    psutil.Process(running.pid).wait(60)
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
from pipeline.targets import find_target
from pipeline.targets.base import Placement
build, config, home, template, folder, port = sys.argv[1:]
made = Build.model_validate_json(build)
running = find_target(made.target).start(
    made.model_copy(update={"home": Path(home)}),
    ServerConfig.model_validate_json(config),
    Path(template),
    Placement(folder=Path(folder), port=int(port), processors=(), account=find_account()),
)
sys.stdout.write(f"{running.pid}\\n")
sys.stdout.flush()
sys.stdin.read()
"""


@on(NEWEST)
def test_a_killed_night_leaves_no_server(stage: Stage) -> None:
    arguments = [
        *(stage.build.model_dump_json(), stage.config.model_dump_json()),
        *(stage.build.home, stage.template, stage.folder, free_port()),
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
    _, alive = psutil.wait_procs([root], timeout=60)
    assert alive == []


@pytest.mark.parametrize("server", NEWEST, ids="-".join)
def test_a_template_is_made_once_and_completely(
    releases_of: Callable[[str, str], Release],
    server_folder: Path,
    account: Account,
    server: tuple[str, str],
) -> None:
    build = releases_of(*server).build
    target = find_target(build.target)
    folder = server_folder / "templates" / "new"
    target.template(build, folder, account)
    before = (folder / "ibdata1").stat()
    target.template(build, folder, account)
    assert (folder / "ibdata1").stat() == before
    assert folder.stat().st_uid == account.uid
    assert [path.name for path in folder.parent.iterdir()] == ["new"]


@pytest.mark.parametrize(
    ("target", "program", "version"),
    [("mariadb", "mariadbd", "11.4.1"), ("mysql", "mysqld", "5.6.1"), ("mysql", "mysqld", "8.0.1")],
)
def test_a_failed_template_leaves_nothing(
    server_folder: Path, account: Account, target: str, program: str, version: str
) -> None:
    home = server_folder / "home"
    for folder in ("bin", "share"):
        (home / folder).mkdir(parents=True)
    for script in ("mariadb_system", "mariadb_performance", "mysql_system"):
        (home / f"share/{script}_tables.sql").touch()
    server = home / "bin" / program
    server.write_text("#!/bin/sh\necho '2026 0 [ERROR] something is wrong' >&2; exit 1\n")
    server.chmod(0o755)
    provenance = Provenance(
        source="s",
        locator="l",
        sha256="0",
        options="official",
        reported_version=f"{program}  Ver {version} for Linux",
    )
    build = Build(
        target=target,
        version=version,
        options="official",
        hash="0",
        provenance=provenance,
        home=home,
    )
    with pytest.raises(StartError, match=rf"^{program} failed in .* \(something is wrong\)$"):
        find_target(target).template(build, server_folder / "t" / "new", account)
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
    assert first_error(log) == expected
