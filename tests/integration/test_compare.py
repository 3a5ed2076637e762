"""Comparing two builds of SQLite by the command line, with the real sysbench."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.model import Build
from tests.integration.nights import Night, leftovers

pytestmark = pytest.mark.integration

CONFIG = """
[[build]]
name = "slow"
flags = "-O0"

[[workload]]
name = "short"
config = "wal"
rows = 2000
steps = ["point-query", "scan"]
measure = "1s"
warmup = "100ms"
"""


@pytest.fixture
def folder(tmp_path: Path, sqlite_builds: Callable[[str], Build]) -> Night:
    sqlite_builds("3.46.0")
    return Night(tmp_path)


def test_a_slow_build_is_stopped_by_the_gate(folder: Night, cache: Path) -> None:
    (folder.folder / "nightshift.toml").write_text(CONFIG)
    sides = ("sqlite:3.46.0", "sqlite:3.46.0@slow")
    asked = ("--step", "point-query", "--smallest", "10%", "--budget", "3m", "--format", "json")
    stopped = folder.run("compare", *sides, *asked, "--gate", code=1)
    rows = {row["metric"]: row for row in folder.json("compare", *sides, *asked[:-2])}
    assert rows.keys() == {"qps", "cpu_us/o"}
    assert rows["cpu_us/o"]["verdict"] == "worse"
    assert rows["cpu_us/o"]["ratio"] > 1.3
    low, high = rows["cpu_us/o"]["interval"]
    assert 1.0 < low < rows["cpu_us/o"]["ratio"] < high
    assert rows["cpu_us/o"]["step"] == "point-query_range=100"
    assert rows["qps"]["ratio"] < 0.9
    (experiment,) = (folder.folder / "results/experiments").iterdir()
    bundles = sorted(path.name for path in (experiment / "bundles").iterdir())
    blocks = [row["blocks"] for row in rows.values()]
    assert len(bundles) == 3 * max(blocks)
    assert {"spec.json", "comparison.json"} < {path.name for path in experiment.iterdir()}
    # What an experiment measured is no evidence of the nights.
    assert not (folder.folder / "results/bundles").exists()
    assert not (folder.folder / "results/store.db").exists()
    # Asked again, what was measured is used.
    again = folder.run("compare", *sides, *asked, "--gate", code=1)
    assert again.stdout == stopped.stdout
    assert sorted(path.name for path in (experiment / "bundles").iterdir()) == bundles
    assert leftovers(cache) == []


def first_bundle(night: Night, running: subprocess.Popen[bytes]) -> Path:
    """Wait for the first whole bundle of the experiment that is running."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and running.poll() is None:
        for path in night.folder.glob("results/experiments/*/bundles/*.tar.zst"):
            return path
        time.sleep(0.05)
    pytest.fail("no run was made")


def test_one_build_against_itself_passes_without_any_configuration(folder: Night) -> None:
    side = "sqlite:3.46.0"
    asked = ("--step", "point-query", "--smallest", "40%", "--budget", "60s")
    # Killed after its first run, the same command goes on with that.
    killed = folder.start("compare", side, side, *asked)
    kept = first_bundle(folder, killed)
    killed.kill()
    killed.wait()
    made = kept.stat().st_mtime_ns
    text = folder.run("compare", side, side, *asked, "--gate", "--format", "markdown").stdout
    assert kept.stat().st_mtime_ns == made
    assert not list(kept.parent.glob("*.partial"))
    assert text.startswith("<!-- nightshift compare -->\n### No regression")
    assert "`sqlite 3.46.0#2 rel_o2nofp wal" in text
    assert "| point-query_range=100 | qps |" in text


def test_a_mistake_is_one_line(folder: Night) -> None:
    for words, said in (
        (("sqlite:3.46.0", "sqlite:3.46.0", "--metric", "qbs"), "there is no metric 'qbs'"),
        (("sqlite:3.46.0", "sqlite:3.46.0", "--budget", "5"), "--budget: '5' is not a duration"),
        (
            ("sqlite:3.46.0", "sqlite:3.46.0", "--smallest", "0%"),
            "0% is not above zero",
        ),
        (("sqlite:3.46.0", "rocksdb:9.11.2"), "does not run on sqlite and rocksdb"),
    ):
        refused = folder.run("compare", *words, code=2).stderr.strip()
        assert said in refused
        assert "\n" not in refused
