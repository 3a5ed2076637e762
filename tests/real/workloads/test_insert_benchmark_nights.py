"""Nights of the Insert Benchmark, from configuration to store; in one a server stands still."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import psutil
import pytest
from sqlalchemy import create_engine, text

from pipeline.storage.bundle import read_bundle
from tests.conftest import Release
from tests.nights import Night, give_own_cache, leftovers, make_night

LOADS = ["l.i0", "l.x", "l.i1", "l.i2"]
FAMILY = 'family = "insert_benchmark"\n'
MEASURE = 6
STILL_SECONDS = 3.2
"""How long the server stands still. A second of that is made up for; a transaction is due every
half a second, and one is under way meanwhile. So 1.2 to 2.2 seconds are lost."""


def outcomes(night: Night) -> dict[str, tuple[str, str]]:
    """Status and note of every step in the store."""
    engine = create_engine(f"sqlite:///{night.folder}/results/store.db")
    with engine.connect() as connection:
        rows = connection.execute(
            text(
                "SELECT step.name, step_run.status, step_run.note FROM step_run"
                " JOIN step ON step.id = step_run.step"
            )
        )
        return {name: (status, note) for name, status, note in rows}


def test_a_quick_night(tmp_path: Path, releases: Callable[[str], Release], cache: Path) -> None:
    """All that --quick leaves of a workload as large as the published ones."""
    night = make_night(
        tmp_path,
        revisions=[releases("17").revision.version],
        steps=["all"],
        more=f"{FAMILY}clients = [2]\noptions = {{ rows_i1 = 4000000, rows_i2 = 1000000 }}\n"
        '[quick]\nrepetitions = 1\nrows = 3000\nsteps = ["qr100", "qp500"]\n',
    )
    night.run("nightly", "--quick")
    (path,) = (night.folder / "results/bundles").glob("*.tar.zst")
    head = read_bundle(path).manifest
    assert [record.step.name for record in head.steps] == [*LOADS, "qr100", "qp500"]
    assert [phase.name for phase in head.phases if phase.name != "start"] == [
        "load",
        "maintenance",
        "plans",
        "stop",
    ]
    found = {(step, metric): value for _, step, metric, value in night.rows()}
    for step in head.steps:
        assert found[step.step.name, "qps"] > 0
        assert found[step.step.name, "dbsize"] > 0
    assert 0.5 < found["qp500", "sla"] <= 1.01
    assert found["qp500", "inserts/s"] == pytest.approx(2 * 500, rel=0.5)
    assert ("l.i1", "sla") not in found
    assert found["l.i1", "deletes/s"] == pytest.approx(found["l.i1", "qps"])
    assert {status for status, _ in outcomes(night).values()} <= {"ok", "sla failed"}
    assert leftovers(cache) == []


@pytest.mark.parametrize(
    ("target", "major", "config", "program"),
    [("postgres", "17", "x10a", "postgres"), ("mariadb", "11.4", "small", "mariadbd")],
)
def test_a_server_that_stands_still_fails_the_sla(
    tmp_path: Path,
    server_folder: Path,
    cache: Path,
    releases_of: Callable[[str, str], Release],
    target: str,
    major: str,
    config: str,
    program: str,
) -> None:
    night = make_night(
        tmp_path / "night",
        revisions=[releases_of(target, major).revision.version],
        steps=["qr100", "qp100"],
        target=target,
        config=config,
        more=FAMILY + "options = { rows_i1 = 100, rows_i2 = 50 }\n",
    )
    own = server_folder / "cache"
    give_own_cache(night, own, cache)
    settings = night.folder / "nightshift.toml"
    settings.write_text(settings.read_text().replace('measure = "1s"', f'measure = "{MEASURE}s"'))
    night.run("discover")
    measuring = night.start("run")
    try:
        stand_still(own, program, "qr100")
        assert measuring.wait(120) == 0
    finally:
        measuring.kill()
        measuring.wait()
    night.run("ingest")
    found = {(step, metric): value for _, step, metric, value in night.rows()}
    status, note = outcomes(night)["qr100"]
    assert status == "sla failed", note
    assert "of 100 inserts/s" in note
    assert 0.5 < found["qr100", "sla"] < 0.9
    assert outcomes(night)["qp100"] == ("ok", "")
    assert found["qp100", "sla"] == pytest.approx(1, abs=0.05)
    assert leftovers(own) == []


def stand_still(cache: Path, program: str, step: str) -> None:
    """Stop all processes of the server, as SIGSTOP does, in the midst of a step."""
    deadline = time.monotonic() + 120
    # By when they were seen: what psutil says of their start is a second off on some machines.
    since: dict[int, float] = {}
    while not any(time.monotonic() - seen > 1 for seen in since.values()):
        assert time.monotonic() < deadline, f"{step} was never run"
        time.sleep(0.05)
        there = set(generators(f"--step={step}", cache))
        since = {pid: since.get(pid, time.monotonic()) for pid in there}
    stopped = [each for each in processes(cache) if each.info["name"] == program]
    assert stopped
    try:
        send_all(stopped, signal.SIGSTOP)
        time.sleep(STILL_SECONDS)
    finally:
        send_all(stopped, signal.SIGCONT)


def send_all(there: Iterable[psutil.Process], what: signal.Signals) -> None:
    """Send a signal to processes, of which some may have ended."""
    for process in there:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(what)


def generators(option: str, cache: Path) -> Iterator[int]:
    """The ids of the load generators with an option."""
    for process in processes(cache):
        if process.info["name"] == "sysbench" and option in process.info["cmdline"]:
            yield process.pid


def processes(cache: Path) -> Iterator[psutil.Process]:
    """The processes that run in the cache, with what is asked of one that may end meanwhile."""
    mark = str(cache / "runs")
    for process in psutil.process_iter(["cmdline", "cwd", "name"]):
        words = [*(process.info["cmdline"] or ()), process.info["cwd"] or ""]
        if any(mark in word for word in words):
            yield process
