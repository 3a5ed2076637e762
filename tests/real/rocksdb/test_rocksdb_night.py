"""A night of two releases of RocksDB that two suites of Debian have, by their own db_bench."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from sqlalchemy import create_engine, text

from pipeline.machine.account import SYSTEM_USER
from pipeline.storage.bundle import read_bundle
from tests.conftest import Release
from tests.nights import Night, leftovers, make_night

STEPS = [
    "fillseq",
    "revrangewhilewriting",
    "fwdrangewhilewriting",
    "readwhilewriting",
    "overwrite",
]
WRAPPERS = ("setpriv", "taskset", "env")
"""The commands that run db_bench as the account, and where it is to run."""


@pytest.fixture(scope="module")
def versions(rocksdb_releases: Callable[[str], Release]) -> tuple[str, str]:
    """The newest 6.11 and the newest 9.10; skips where they cannot be had."""
    old, new = (rocksdb_releases(major).revision.version for major in ("6.11", "9.10"))
    return old, new


def rocksdb_night(
    folder: Path, versions: tuple[str, ...], more: str = "", config: str = "byrx", **changed: int
) -> Night:
    return make_night(
        folder,
        revisions=versions,
        steps=["all"],
        target="rocksdb",
        config=config,
        more=f'family = "db_bench"\n{more}',
        **changed,
    )


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory, versions: tuple[str, str]) -> Night:
    made = rocksdb_night(tmp_path_factory.mktemp("night"), versions, "clients = [1, 2]")
    config = made.folder / "nightshift.toml"
    config.write_text(config.read_text().replace("rows = 5000", "rows = 1000000"))
    made.run("nightly")
    return made


def test_two_releases_are_measured_and_compared(
    night: Night, versions: tuple[str, str], cache: Path
) -> None:
    assert len(night.bundles()) == 4
    tables = night.tables()
    assert len(tables) == 2
    for table in tables:
        names = [column["name"].split("_")[0] for column in table["columns"]]
        assert names == ["rdb" + version.replace(".", "") for version in versions]
        rows = [row for group in table["groups"] for row in group["rows"]]
        assert sorted(row["step"] for row in rows) == sorted(STEPS)
        assert all(value is not None and value > 0 for row in rows for value in row["values"])
    assert leftovers(cache) == []
    assert night.json("nightly")["runs"] == 0


def test_a_bundle_holds_everything_about_its_run(night: Night, versions: tuple[str, str]) -> None:
    for path in (night.folder / "results/bundles").glob("*.tar.zst"):
        bundle = read_bundle(path)
        head = bundle.manifest
        assert head.config.family == "byrx"
        assert head.revision.supply is not None
        assert head.revision.supply.kind == "debian"
        assert head.build.provenance.source == "Debian"
        assert len(head.build.provenance.sha256) == 64
        settings = json.loads(bundle.files["settings.json"])
        assert settings["Version.rocksdb_version"].startswith(head.revision.version)
        assert {phase.name for phase in head.phases} >= {"start", "maintenance", "stop"}
        assert "maintenance.log" in bundle.files
        assert [record.step.name for record in head.steps] == STEPS
        for record in head.steps:
            assert "--block_size=8192" in record.command
            assert b" micros/op " in bundle.files[f"{record.folder}/stdout.txt"]


def test_the_load_generator_is_measured_as_the_server(night: Night) -> None:
    values = {(run, step, metric): value for run, step, metric, value in night.rows()}
    reads = [run for run, step, metric in values if (step, metric) == ("readwhilewriting", "qps")]
    assert len(reads) == 4
    for run in reads:
        # A cached read is a matter of microseconds, in one process with its client.
        assert 0.1 < values[run, "readwhilewriting", "cpu_us/o"] < 1000
        assert values[run, "readwhilewriting", "rss"] > 10_000_000
        assert 0 < values[run, "readwhilewriting", "latency_p50"] < 10
        # 420 bytes a row.
        assert values[run, "fillseq", "dbsize"] > 400_000_000
        assert values[run, "fillseq", "qps"] > values[run, "revrangewhilewriting", "qps"]


def test_the_settings_of_two_runs_differ_in_nothing_of_the_folder(night: Night) -> None:
    page = (night.folder / "results/report.html").read_text()
    assert "/runs/rocksdb-" not in page, "a folder of a run is shown as a changed setting"


def test_maintenance_reports_what_it_left(night: Night, versions: tuple[str, str]) -> None:
    for path in (night.folder / "results/bundles").glob("*.tar.zst"):
        bundle = read_bundle(path)
        phases = [phase.name for phase in bundle.manifest.phases]
        assert phases == ["start", "warm-up overwrite", "maintenance", "stop"]
        log = bundle.files["maintenance.log"].decode()
        old = bundle.manifest.revision.version == versions[0]
        assert log.startswith("waited " if old else "flush, waitforcompaction, compact0")
        assert log.count("Level Files Size(MB)") == 2
        assert ("Estimated pending compaction bytes: " in log) == (not old)


def test_what_rocksdb_counts_is_in_the_store(night: Night) -> None:
    found: dict[str, set[str]] = {}
    for _, step, metric, _ in night.rows():
        found.setdefault(step, set()).add(metric)
    counted = {"c_wgb", "c_rgb", "c_mbps", "c_wsecs", "c_csecs", "flush_wgb", "stall%", "Nstall"}
    assert all(counted <= metrics for metrics in found.values())
    # 420 MB are written, and files that need not be merged are moved as they are.
    amplified = [
        value for _, step, name, value in night.rows() if (step, name) == ("fillseq", "w_amp")
    ]
    assert len(amplified) == 4
    assert amplified == pytest.approx([1.0] * 4, abs=0.1), "it prints two decimals"


def test_what_rocksdb_did_meanwhile_is_in_the_store(
    tmp_path: Path, versions: tuple[str, str]
) -> None:
    night = rocksdb_night(tmp_path / "n", versions[1:])
    file = night.folder / "nightshift.toml"
    # 2.5 GB, of which no machine writes the first memtables and the last ones in one second.
    more_rows = file.read_text().replace("rows = 5000", "rows = 6000000")
    file.write_text(more_rows.replace('steps = ["all"]', 'steps = ["fillseq"]'))
    night.run("nightly")
    with create_engine(f"sqlite:///{night.folder}/results/store.db").connect() as store:
        (reported,) = store.execute(text("SELECT activity FROM step_run")).scalars()
    activity = json.loads(reported)
    assert {"flushes", "compactions", "flush_bytes/s", "stalls/s"} <= activity.keys()
    assert max(value for _, value in activity["flush_bytes/s"]) > 10_000_000


def refuses_direct_io(folder: Path) -> bool:
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        try:
            os.close(os.open(file.name, os.O_RDONLY | os.O_DIRECT))
        except OSError:
            return True
    return False


@pytest.mark.parametrize("config", ["iobuf", "iodir"])
def test_a_database_that_fits_into_memory_is_no_io_bound_result_and_says_so(
    tmp_path: Path, versions: tuple[str, str], cache: Path, config: str
) -> None:
    if config == "iodir" and refuses_direct_io(cache):
        pytest.skip(f"the file system of {cache} refuses O_DIRECT")
    night = rocksdb_night(tmp_path / "n", versions[1:], config=config)
    file = night.folder / "nightshift.toml"
    file.write_text(file.read_text().replace("rows = 5000", "rows = 100000"))
    night.run("nightly")
    (path,) = (night.folder / "results/bundles").glob("*.tar.zst")
    bundle = read_bundle(path)
    assert [record.status for record in bundle.manifest.steps] == ["ok"] * len(STEPS)
    settings = json.loads(bundle.files["settings.json"])
    assert settings["DBOptions.use_direct_reads"] == str(config == "iodir").lower()
    assert settings["CFOptions.compression_per_level"].count("kLZ4Compression") == 5
    with create_engine(f"sqlite:///{night.folder}/results/store.db").connect() as store:
        marks = [
            json.loads(each) for each in store.execute(text("SELECT marks FROM step_run")).scalars()
        ]
    assert len(marks) == len(STEPS)
    wanted = f"of memory that an IO-bound one ({config}) exceeds"
    # A busy machine adds marks of its own, as "drifting".
    assert all(any(mark.endswith(wanted) for mark in of_step) for of_step in marks)


def reading(
    night: subprocess.Popen[bytes], word: str = "--benchmarks=readwhilewriting,stats"
) -> tuple[psutil.Process, str]:
    """Wait until a night runs a db_bench with an argument; return it, and whom it runs as."""
    while True:
        assert night.poll() is None, "the night ended before it measured"
        for child in psutil.Process(night.pid).children(recursive=True):
            # What runs it becomes it, by and by; and it may end at any moment.
            with contextlib.suppress(psutil.NoSuchProcess):
                words = child.cmdline()
                if word in words and words[0] not in WRAPPERS:
                    return child, child.username()
        time.sleep(0.02)


def test_it_runs_as_the_account_and_is_stopped_with_the_night(
    tmp_path: Path, versions: tuple[str, str], cache: Path
) -> None:
    night = rocksdb_night(tmp_path / "n", versions[1:], repetitions=20)
    process = night.start("nightly")
    _, user = reading(process)
    if os.geteuid() == 0:
        assert user == SYSTEM_USER
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=120) == 130
    assert leftovers(cache, seconds=2) == []


def test_a_db_bench_that_crashes_is_a_failed_step_and_the_night_goes_on(
    tmp_path: Path, versions: tuple[str, str], cache: Path
) -> None:
    night = rocksdb_night(tmp_path / "n", versions[1:])
    config = night.folder / "nightshift.toml"
    config.write_text(config.read_text().replace('measure = "1s"', 'measure = "3s"'))
    process = night.start("nightly")
    reading(process)[0].send_signal(signal.SIGSEGV)
    assert process.wait(timeout=120) == 0
    (path,) = (night.folder / "results/bundles").glob("*.tar.zst")
    records = {record.step.name: record for record in read_bundle(path).manifest.steps}
    assert records.pop("readwhilewriting").status == "failed"
    assert {record.status for record in records.values()} == {"ok"}
    assert leftovers(cache) == []


def test_without_the_overwriting_before_the_queries_they_are_failed_and_the_night_goes_on(
    tmp_path: Path, versions: tuple[str, str], cache: Path
) -> None:
    night = rocksdb_night(tmp_path / "n", versions[1:])
    config = night.folder / "nightshift.toml"
    config.write_text(config.read_text().replace("rows = 5000", "rows = 1000000"))
    process = night.start("nightly")
    reading(process, "--writes=100000")[0].kill()
    assert process.wait(timeout=120) == 0
    (path,) = (night.folder / "results/bundles").glob("*.tar.zst")
    records = {record.step.name: record for record in read_bundle(path).manifest.steps}
    assert records.pop("fillseq").status == "ok"
    assert {record.status for record in records.values()} == {"failed"}
    assert all("warm-up overwrite failed" in record.note for record in records.values())
    assert leftovers(cache) == []


def test_a_workload_of_servers_is_refused_with_its_line(
    tmp_path: Path, versions: tuple[str, str]
) -> None:
    night = make_night(tmp_path / "n", revisions=versions, target="rocksdb", config="byrx")
    config = night.folder / "nightshift.toml"
    config.write_text(config.read_text() + 'family = "sysbench"\n')
    refused = night.run("nightly", code=2)
    assert refused.stderr.count("\n") == 1
    assert "workload.family: sysbench does not run on rocksdb" in refused.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a small disk")
def test_a_disk_that_fills_up_is_no_result(
    tmp_path: Path, server_folder: Path, versions: tuple[str, str], cache: Path
) -> None:
    night = rocksdb_night(tmp_path / "n", versions[1:])
    config = night.folder / "nightshift.toml"
    # It begins on a disk that a night is refused on.
    passing = config.read_text().replace('wait = "0s"', 'wait = "0s"\nwarn = ["disk_full"]')
    config.write_text(passing.replace("rows = 5000", "rows = 500000"))
    small = server_folder / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=160m,mode=755", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        shutil.copytree(cache / "versions", small / "versions")
        (small / "downloads").mkdir()
        for found in (cache / "downloads").glob(f"deb-rocksdb-tools-*-{versions[1]}-*"):
            if found.is_dir():
                shutil.copytree(found, small / "downloads" / found.name)
        refused = subprocess.run(
            night.command("nightly"),
            cwd=night.folder,
            env={**os.environ, "NIGHTSHIFT_CACHE": str(small)},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        subprocess.run(["umount", str(small)], check=True)
    assert refused.returncode == 3, refused.stderr
    why, last = refused.stderr.splitlines()[-2:]
    assert f"the disk that holds {small} is full; free some space" in why
    assert "no run could be measured" in last
    assert night.bundles() == {}
