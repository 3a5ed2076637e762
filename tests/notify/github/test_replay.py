"""A thousand nights with faults: never two issues for one regression, and never a lost one."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from pipeline.notify.github import record
from tests.notify.github.replay import Replay

WORLDS, NIGHTS = 25, 40


def test_a_thousand_nights_with_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Processes are killed here, not machines: what was written is there.
    monkeypatch.setattr(os, "fsync", lambda _: None)
    met: Counter[str] = Counter()
    issues = decisions = 0
    for seed in range(WORLDS):
        replay = Replay(seed, tmp_path / str(seed), loses=seed % 2 == 0)
        monkeypatch.setattr(record, "write_whole", replay.write_whole)
        for _ in range(NIGHTS):
            replay.day()
        met += replay.met
        issues += len(replay.ours())
        decisions += len(replay.received)
    # What was to be survived did happen, and there was something to lose.
    assert issues > 150 and decisions > 300
    faults = ["403", "429", "500", "502 after", "503", "0", "0 after", "behind", "late", "killed"]
    assert all(met[fault] > 20 for fault in [*faults, "lost"]), met
