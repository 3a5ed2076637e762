"""RocksDB for real: made ready, asked, maintained, and failing in every usual way."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.machine.account import Account
from pipeline.model import Build, Machine, ServerConfig
from pipeline.targets.base import Placement, ServerError, StartError
from pipeline.targets.base.programs import ENVIRONMENT, program_hash
from pipeline.targets.rocksdb import RocksDB
from pipeline.targets.rocksdb.configuration import FILES
from pipeline.targets.rocksdb.engine import DEBTS, RocksDBEngine
from pipeline.text.errors import UserError
from tests.conftest import Release
from tests.ports import free_port

TARGET = RocksDB()
OLD, NEW = "6.11", "9.10"
"""Releases without and with benchmarks that let compaction end."""


class Stage:
    """A release with its template, ready to be started in a folder of its own."""

    def __init__(
        self, release: Release, template: Path, folder: Path, account: Account, machine: Machine
    ) -> None:
        self.release = release
        self.build = release.build
        self.template = template
        self.folder = folder
        self.account = account
        self.machine = machine.model_copy(update={"memory_bytes": 2**30})

    def config(self, family: str = "byrx", more: str = "") -> ServerConfig:
        made = TARGET.config(family, self.release.revision, self.machine)
        return made.model_copy(update={"text": made.text + more})

    def start(self, config: ServerConfig | None = None) -> RocksDBEngine:
        return TARGET.start(
            self.build,
            config or self.config(),
            self.template,
            Placement(folder=self.folder, port=free_port(), processors=(), account=self.account),
        )


Staged = Callable[..., Stage]


@pytest.fixture
def stage(
    rocksdb_releases: Callable[[str], Release],
    server_root: Path,
    server_folder: Path,
    account: Account,
    machine: Machine,
) -> Staged:
    def make(major: str = NEW) -> Stage:
        release = rocksdb_releases(major)
        template = server_root / "templates" / "rocksdb" / release.build.version
        TARGET.template(release.build, template, account)
        return Stage(release, template, server_folder / major, account, machine)

    return make


def bench(engine: RocksDBEngine, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run what a workload would: the command of the connection."""
    return subprocess.run(
        [*engine.connection.command, f"--db={engine.connection.socket_dir}", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("major", [OLD, NEW])
def test_it_is_made_ready_and_maintained_and_leaves_no_process(stage: Staged, major: str) -> None:
    prepared = stage(major)
    engine = prepared.start()
    assert engine.pid is None
    settings = engine.settings()
    assert settings["Version.rocksdb_version"].startswith(f"{major}.")
    assert settings["CFOptions.compression"] == "kNoCompression"
    assert settings["TableOptions/BlockBasedTable.block_size"] == "8192"
    assert settings["DBOptions.bytes_per_sync"] == "1048576"
    assert not [value for value in settings.values() if str(prepared.folder) in value]
    done = bench(engine, "--benchmarks=fillseq", "--num=50000", "--use_existing_db=false")
    assert done.returncode == 0, done.stderr
    assert engine.database_bytes() > 5_000_000
    engine.maintain(())
    log = (prepared.folder / "maintenance.log").read_text()
    first, *rest = log.splitlines()
    assert first == (
        "waited 1 s: this release has no command to wait for pending compaction"
        if major == OLD
        else ", ".join(DEBTS)
    )
    levels = [line.split() for line in rest if re.match(r" +\d", line)]
    assert [level for level, *_ in levels] == [str(level) for level in range(8)] * 2
    assert {size for *_, size in levels if size != "0"}, "nothing is in any level"
    before, after = int(levels[0][1]), int(levels[8][1])
    assert after <= before, "files in level 0, of which one alone is left as it is"
    assert ("Estimated pending compaction bytes: 0" in rest) == (major != OLD)
    engine.stop()
    engine.stop()


def test_the_database_belongs_to_the_account_that_servers_run_as(
    stage: Staged, account: Account
) -> None:
    engine = stage().start()
    bench(engine, "--benchmarks=fillseq", "--num=1000", "--use_existing_db=false")
    files = list(Path(engine.connection.socket_dir).iterdir())
    assert {path.stat().st_uid for path in files} == {account.uid}


def test_it_sees_nothing_of_our_environment(stage: Staged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_TMPDIR", "/elsewhere")
    words = stage().start().connection.command
    loader = next(at for at, word in enumerate(words) if "/ld-linux" in word)
    shown = subprocess.run([*words[:loader], "env"], capture_output=True, text=True, check=True)
    assert dict(line.split("=") for line in shown.stdout.splitlines()) == dict(ENVIRONMENT)


def test_a_database_is_new_in_each_start(stage: Staged) -> None:
    prepared = stage()
    engine = prepared.start()
    bench(engine, "--benchmarks=fillseq", "--num=50000", "--use_existing_db=false")
    full = engine.database_bytes()
    assert prepared.start().database_bytes() < full / 10


@pytest.mark.parametrize("major", [OLD, NEW])
def test_an_option_that_a_release_does_not_know_is_one_line(stage: Staged, major: str) -> None:
    prepared = stage(major)
    with pytest.raises(StartError) as error:
        prepared.start(prepared.config(more="--nonsense=1\n"))
    text = str(error.value)
    assert "unknown command line flag 'nonsense'" in text
    assert "\n" not in text


def test_an_option_of_a_wrong_value_is_one_line(stage: Staged) -> None:
    prepared = stage()
    with pytest.raises(StartError, match=r"db_bench failed in .*Cache type not supported"):
        prepared.start(prepared.config(more="--cache_type=nonsense\n"))


@pytest.mark.parametrize("cores", [2, 48])
@pytest.mark.parametrize("family", [*FILES.families()])
@pytest.mark.parametrize("major", [OLD, "7.8", NEW])
def test_every_family_opens_on_small_and_on_large_machines(
    stage: Staged, family: str, major: str, cores: int
) -> None:
    prepared = stage(major)
    prepared.machine = prepared.machine.model_copy(update={"cores": cores})
    engine = prepared.start(prepared.config(family))
    settings = engine.settings()
    direct = settings["DBOptions.use_direct_reads"]
    assert direct == settings["DBOptions.use_direct_io_for_flush_and_compaction"]
    assert direct == str(family == "iodir").lower()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
@pytest.mark.parametrize("major", [OLD, NEW])
def test_a_file_system_without_direct_io_is_one_line(
    stage: Staged, server_folder: Path, major: str
) -> None:
    prepared = stage(major)
    disk = server_folder / "ram"
    disk.mkdir()
    mount = ["mount", "-t", "ramfs", "-o", "mode=755", "ramfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted here")
    prepared.folder = disk / "run"
    try:
        with pytest.raises(UserError, match="refuses O_DIRECT, which config iodir needs") as error:
            prepared.start(prepared.config("iodir"))
        prepared.start(prepared.config("iobuf"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert "\n" not in str(error.value)


def test_a_lost_database_is_reported_when_it_is_maintained(stage: Staged) -> None:
    engine = stage().start()
    for path in Path(engine.connection.socket_dir).glob("CURRENT"):
        path.write_text("nonsense\n")
    with pytest.raises(ServerError, match="db_bench failed"):
        engine.maintain(())


def test_a_build_without_its_c_library_is_one_line(stage: Staged, server_folder: Path) -> None:
    prepared = stage()
    home = server_folder / "home"
    shutil.copytree(prepared.build.home / "usr/bin", home / "usr/bin")
    with pytest.raises(UserError, match="holds no C library"):
        TARGET.identify(home)


def test_a_folder_of_other_packages_is_no_release(server_folder: Path) -> None:
    with pytest.raises(UserError, match="has no db_bench"):
        TARGET.identify(server_folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a small disk")
def test_a_full_disk_is_one_line(stage: Staged, server_folder: Path) -> None:
    prepared = stage()
    disk = server_folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24k,mode=755", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted here")
    prepared.folder = disk / "run"
    try:
        with pytest.raises(UserError, match="no space left"):
            prepared.start()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_the_hash_is_over_the_program_and_its_libraries(stage: Staged, server_folder: Path) -> None:
    build: Build = stage().build
    copy = server_folder / "copy"
    shutil.copytree(build.home, copy, symlinks=True)
    folders = TARGET.identify(copy).folders
    assert program_hash(copy, folders) == build.hash
    library = next((copy / "usr/lib").rglob("librocksdb.so*"))
    library.write_bytes(library.resolve().read_bytes() + b"x")
    assert program_hash(copy, folders) != build.hash
