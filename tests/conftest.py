"""What tests of real servers share: one cache of archives, their builds, one running Postgres."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from pipeline.config import Paths
from pipeline.machine.account import Account, find_account
from pipeline.machine.fingerprint import fingerprint
from pipeline.machine.lease import INHERITED
from pipeline.machine.paths import RUN
from pipeline.measure.build import OFFICIAL, SHIPPED_OPTIONS, Builder, install
from pipeline.measure.discover import Offer, revisions_of
from pipeline.model import Build, Machine, Provenance, Revision
from pipeline.sources import source_for
from pipeline.sources.base import Fetched
from pipeline.targets import find_target
from pipeline.targets.base import Placement, Server, Target
from pipeline.targets.mariadb import MariaDB
from pipeline.targets.mysql import MySQL
from pipeline.targets.postgres import Postgres
from pipeline.targets.postgres.server import PostgresServer
from pipeline.targets.sqlite import SQLite
from pipeline.targets.sqlite.database import SQLiteDatabase
from pipeline.text.errors import UserError
from tests.ports import free_port
from tests.prometheus import CONFIG, Prometheus, tool
from tests.repositories import FAST
from tests.s3 import S3
from tests.skips import expected

# The same examples in every run: a test that fails by chance says nothing about a change. And no
# deadline: a busy machine may let a process wait for seconds in the middle of an example.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    parent=settings.default,
)
settings.load_profile("repeatable")

# A shell lets what it starts in the background ignore SIGINT, and so would all that the tests
# start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


LANES = tuple(Path(__file__).parent / lane for lane in ("real", "slow"))
"""The tests of `make test-real` and `make test-slow`: collected only where they are asked for."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the other lanes, unless the command line names one or a file of it."""
    if collection_path not in LANES:
        return None
    asked = [Path(argument.partition("::")[0]).resolve() for argument in config.args]
    return not any(each.is_relative_to(collection_path) for each in asked) or None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail what is skipped in CI for want of a capability; see :mod:`tests.skips`."""
    report = yield
    if report.skipped and os.environ.get("CI") and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2]
        if not expected(reason):
            report.outcome = "failed"
            report.longrepr = f"CI installs what every test needs, but: {reason}"
    return report


SHARED = (
    "apt",
    "builds",
    "cargo",
    "ccache",
    "compile",
    "downloads",
    "git",
    "npm",
    "templates",
    "versions",
)
"""What is in a cache, but the runs and what a machine remembers."""


@dataclass(frozen=True)
class Release:
    """A release as it was had: its revision, its archive and the installed build."""

    revision: Revision
    archive: Fetched
    build: Build


@dataclass(frozen=True)
class RunningPostgres:
    """A started server, and how a client reaches it."""

    server: PostgresServer
    build: Build

    @property
    def socket_dir(self) -> Path:
        return Path(self.server.connection.socket_dir)

    @property
    def port(self) -> int:
        return self.server.connection.port

    @property
    def user(self) -> str:
        return self.server.connection.user

    @property
    def database(self) -> str:
        return self.server.connection.database


@pytest.fixture(scope="session", autouse=True)
def cache(server_root: Path) -> Iterator[Path]:
    """The folder that the program itself caches in: an archive is downloaded once.

    Of processes that test side by side each has its own, in which everything is everybody's but
    the runs: what runs in a folder of another's is nothing that a test of ours left.
    """
    everybodys = Paths().cache_folder
    if "PYTEST_XDIST_WORKER" not in os.environ:
        yield everybodys
        return
    own = server_root / "cache"
    own.mkdir()
    for name in SHARED:
        (everybodys / name).mkdir(parents=True, exist_ok=True)
        (own / name).symlink_to(everybodys / name)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("NIGHTSHIFT_CACHE", str(own))
        yield own


@pytest.fixture(scope="session", autouse=True)
def machine_of_our_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let the tests have lease and tuning to themselves, whatever else measures here."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(RUN, str(tmp_path_factory.mktemp("machine-run")))
        patched.delenv(INHERITED, raising=False)
        yield


@pytest.fixture(autouse=True)
def machine_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test have them to itself."""
    monkeypatch.setenv(RUN, str(tmp_path / "machine-run"))


@pytest.fixture(scope="session")
def account() -> Account:
    return find_account()


@pytest.fixture(scope="session")
def machine() -> Machine:
    return fingerprint("test", Path())


@pytest.fixture(scope="session")
def server_root() -> Iterator[Path]:
    """A folder that the account of the servers can enter, which tmp_path is not for root."""
    with tempfile.TemporaryDirectory(prefix="nightshift-") as folder:
        root = Path(folder)
        root.chmod(0o755)
        yield root


@pytest.fixture
def server_folder(server_root: Path) -> Iterator[Path]:
    """A fresh folder of that kind for one test."""
    folder = Path(tempfile.mkdtemp(dir=server_root))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def releases_of(cache: Path, server_root: Path) -> Callable[[str, str], Release]:
    """Get the newest prebuilt release of a target's major, once; skip where it cannot be had.

    The major may be its first number: ``9`` is the newest 9.x.
    """
    had: dict[tuple[str, str], Release] = {}

    def get(target: str, major: str) -> Release:
        if (target, major) not in had:
            # The newest of two majors may be one release: 11 and 11.4.
            builds = server_root / "builds" / target / major
            had[target, major] = _had(target, major, cache, builds)
        return had[target, major]

    return get


def _had(target: str, major: str, cache: Path, builds: Path) -> Release:
    reasons = []
    for supply in find_target(target).supplies:
        if not supply.prebuilt:
            continue
        source = source_for(supply, cache)
        try:
            known = revisions_of(Offer(target, supply), source.versions())
            fitting = [each for each in known if f"{each.major}.".startswith(f"{major}.")]
            if fitting:
                archive = source.fetch(fitting[-1].locator, cache / "downloads")
                return _installed(fitting[-1], archive, source.name, builds)
        except UserError as error:
            reasons.append(str(error))
    pytest.skip(f"{target} {major} cannot be had: {'; '.join(reasons) or 'nobody has it'}")


def _installed(revision: Revision, archive: Fetched, source: str, builds: Path) -> Release:
    provenance = Provenance(
        source=source, locator=archive.locator, sha256=archive.sha256, options=OFFICIAL
    )
    build = install(revision, archive, builds / revision.version, provenance)
    return Release(revision, archive, build)


@pytest.fixture(scope="session")
def releases(releases_of: Callable[[str, str], Release]) -> Callable[[str], Release]:
    """The newest release of a major of Postgres."""
    return partial(releases_of, "postgres")


@pytest.fixture(scope="session")
def sqlite_builds(cache: Path, account: Account) -> Callable[..., Build]:
    """A release of SQLite, compiled fast unless asked otherwise; the program's cache keeps it."""
    builder = Builder(cache, account, options={**SHIPPED_OPTIONS, FAST.name: FAST})
    offer = Offer("sqlite", SQLite.supplies[0])

    def get(version: str, options: str = FAST.name) -> Build:
        try:
            known = revisions_of(offer, source_for(offer.supply, cache).versions())
            revision = next(each for each in known if each.version == version)
            return builder.obtain(revision, options)
        except UserError as error:
            pytest.skip(f"SQLite {version} cannot be had: {error}")

    return get


@pytest.fixture
def sqlite_database(
    sqlite_builds: Callable[..., Build], server_folder: Path, account: Account, machine: Machine
) -> SQLiteDatabase:
    """A real, empty database of SQLite 3.46.0, for one test."""
    target, build = SQLite(), sqlite_builds("3.46.0")
    target.template(build, server_folder / "template", account)
    revision = Revision(target="sqlite", version="3.46.0", order=(3, 46, 0), major="3.46")
    return target.start(
        build,
        target.config("wal", revision, machine.model_copy(update={"memory_bytes": 2**30})),
        server_folder / "template",
        Placement(folder=server_folder / "run", port=0, processors=(), account=account),
    )


@pytest.fixture(scope="session")
def rocksdb_releases(releases_of: Callable[[str, str], Release]) -> Callable[[str], Release]:
    """The newest release of a major of RocksDB that a suite of Debian has."""
    return partial(releases_of, "rocksdb")


@pytest.fixture(scope="session")
def postgres_server(
    releases: Callable[[str], Release], server_root: Path, account: Account, machine: Machine
) -> Iterator[RunningPostgres]:
    """A real, empty Postgres 17 for the whole session; use tables of your own."""
    target = Postgres()
    release = releases("17")
    template = server_root / "templates" / release.revision.version
    target.template(release.build, template, account)
    server = target.start(
        release.build,
        # A small machine: the tests' server should not claim most of this one.
        target.config("x10a", release.revision, machine.model_copy(update={"memory_bytes": 2**30})),
        template,
        Placement(folder=server_root / "shared", port=free_port(), processors=(), account=account),
    )
    try:
        yield RunningPostgres(server=server, build=release.build)
    finally:
        server.stop()


@contextmanager
def _running(
    target: Target,
    release: Release,
    config: str,
    server_root: Path,
    account: Account,
    machine: Machine,
) -> Iterator[Server]:
    """A real, empty server with a configuration of a name."""
    label = f"{target.name}-{release.revision.version}"
    template = server_root / "templates" / label
    target.template(release.build, template, account)
    small = machine.model_copy(update={"memory_bytes": 2**30})
    server = target.start(
        release.build,
        target.config(config, release.revision, small),
        template,
        Placement(
            folder=server_root / f"s-{label}", port=free_port(), processors=(), account=account
        ),
    )
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def mysql_server(
    releases_of: Callable[[str, str], Release],
    server_root: Path,
    account: Account,
    machine: Machine,
) -> Iterator[Server]:
    """A real, empty MySQL 9 for the whole session; use tables of your own."""
    release = releases_of("mysql", "9")
    with _running(MySQL(), release, "small", server_root, account, machine) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_server(
    releases_of: Callable[[str, str], Release],
    server_root: Path,
    account: Account,
    machine: Machine,
) -> Iterator[Server]:
    """A real, empty MariaDB 11.4 for the whole session; use tables of your own."""
    release = releases_of("mariadb", "11.4")
    with _running(MariaDB(), release, "small", server_root, account, machine) as server:
        yield server


@pytest.fixture(scope="session")
def promtool() -> str:
    """The path of promtool."""
    return tool("promtool")


@pytest.fixture
def start_prometheus(tmp_path: Path) -> Iterator[Callable[..., Prometheus]]:
    """Start a real Prometheus with a configuration (by default none) and flags of its own."""
    started: list[Prometheus] = []

    def start(config: str = CONFIG, *flags: str) -> Prometheus:
        folder = tmp_path / f"prometheus-{len(started)}"
        folder.mkdir()
        started.append(Prometheus(folder, config, flags))
        started[-1].start()
        return started[-1]

    yield start
    for server in started:
        server.kill()


@pytest.fixture
def prometheus(start_prometheus: Callable[..., Prometheus]) -> Prometheus:
    """A real, empty Prometheus for one test, set up as the hub's."""
    return start_prometheus()


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[S3]:
    """A real S3 server for one test; see :meth:`S3.bucket` and :attr:`S3.environ`."""
    server = S3(tmp_path / "s3")
    try:
        server.start()
        yield server
    finally:
        server.stop()
