"""A thousand nights with faults: never two issues for one regression, and never a lost one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pipeline.notify.github import record
from pipeline.notify.github.transport import pygithub
from tests.notify.github.replay import Replay
from tests.notify.github.world import TOKEN

WORLDS, NIGHTS = 25, 40


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: the record is renamed ten thousand times."""
    memory = Path("/dev/shm")  # noqa: S108
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with TemporaryDirectory(dir=memory) as made:
        yield Path(made)


def test_a_thousand_nights_with_faults(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Processes are killed here, not machines: what was written is there.
    monkeypatch.setattr(os, "fsync", lambda _: None)
    met: Counter[str] = Counter()
    issues = decisions = 0
    for seed in range(WORLDS):
        replay = Replay(seed, folder / str(seed), loses=seed % 2 == 0)
        monkeypatch.setattr(record, "write_durably", replay.write_durably)
        for _ in range(NIGHTS):
            replay.day()
        met += replay.met
        issues += len(replay.ours())
        decisions += len(replay.received)
    # What was to be survived did happen, and there was something to lose.
    assert issues > 300 and decisions > 200
    faults = ["403", "429", "500", "502 after", "503", "0", "0 after", "behind", "late", "killed"]
    assert all(met[fault] > 20 for fault in [*faults, "lost"]), met


def test_nights_with_faults_over_a_network(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay = Replay(1001, folder, loses=True)
    monkeypatch.setattr(record, "write_durably", replay.write_durably)
    with replay.world.fake.serving():
        replay.send = pygithub(replay.world.fake.url, TOKEN)
        for _ in range(30):
            replay.day()
    assert len(replay.ours()) > 5 and replay.met["0 after"] > 0
