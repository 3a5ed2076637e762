"""A disk that becomes full at a write of a night: one line, and nothing is lost.

One write in four; with NIGHTSHIFT_EVERY_WRITE set, at every one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.flows.test_killed_nights import Saved, concluded
from tests.simulated import Simulation, simulate

SHARDS = 4
"""Tests that share the writes of a night, if every write is to be tried."""

TRIED = range(1, SHARDS + 1 if os.environ.get("NIGHTSHIFT_EVERY_WRITE") else 2)

ROOT = Path(__file__).parents[3]


class Answer(NamedTuple):
    """How a verb ended on a full disk: its code and messages, and its calls that need space."""

    code: int
    message: str
    calls: int


class SmallDisk:
    """A process with a disk that becomes full; see :mod:`tests.real.faults.small_disk`."""

    def __init__(self, folder: Path, library: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.real.faults.small_disk", str(folder)],
            cwd=ROOT,
            env={
                **os.environ,
                "LD_PRELOAD": str(library),
                "NIGHTSHIFT_FULL_DISK": f"{folder}/results",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, verb: str, number: int = 0, *, lasting: bool = True) -> Answer:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([verb, number, lasting]) + "\n")
        self._process.stdin.flush()
        return Answer(*json.loads(self._process.stdout.readline()))

    def end(self) -> None:
        self._process.communicate()


@pytest.fixture
def simulation(server_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """A machine with two new commits."""
    simulation = simulate(server_folder, monkeypatch)
    simulation.configure(line="newest = 2")
    simulation.commit()
    simulation.commit()
    return simulation


@pytest.fixture
def disk(simulation: Simulation, tmp_path: Path) -> Iterator[SmallDisk]:
    """The disk of that machine."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    library = tmp_path / "full_disk.so"
    source = Path(__file__).with_name("full_disk.c")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True
    )
    disk = SmallDisk(simulation.folder, library)
    yield disk
    disk.end()


@pytest.mark.parametrize("shard", TRIED)
def test_a_disk_that_becomes_full_at_any_write_of_a_night(
    simulation: Simulation, disk: SmallDisk, tmp_path: Path, shard: int
) -> None:
    new = Saved(simulation, tmp_path / "aside")
    whole = disk.run("nightly")
    assert whole.code == 0, whole.message
    undisturbed = set(simulation.bundles()), concluded(simulation)
    refused = 0
    for number in range(shard, whole.calls + 1, SHARDS):
        # In turn, a disk that stays full and one on which somebody frees space at once.
        lasting = number // SHARDS % 2 == 0
        new.restore()
        ended = disk.run("nightly", number, lasting=lasting)
        where = f"at call {number} of {whole.calls}, lasting: {lasting}"
        assert "Traceback" not in ended.message, f"{where}\n{ended.message}"
        assert ended.code in (0, 2, 3), f"{where}\n{ended.message}"
        if ended.code:
            refused += 1
            last = ended.message.strip().splitlines()[-1]
            assert last.startswith("nightshift: "), f"{where}\n{ended.message}"
        kept = set(simulation.bundles())
        again = disk.run("nightly")
        assert again.code == 0, f"{where}\n{again.message}"
        assert kept <= set(simulation.bundles()), where
        assert (set(simulation.bundles()), concluded(simulation)) == undisturbed, where
    assert refused > whole.calls // SHARDS // 3, "a full disk is noticed"
