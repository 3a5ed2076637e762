"""Ten thousand random known_regressions of the fleet: no server outlives its time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fleet.test_histories import live_all
from tests.fleet.trouble import without_disk

HISTORIES = 10_000
FIRST_SEED = 10**6
PARTS = 10


@pytest.mark.parametrize("part", range(PARTS))
def test_no_server_outlives_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    without_disk(monkeypatch)
    share = HISTORIES // PARTS
    live_all(tmp_path, range(FIRST_SEED + part * share, FIRST_SEED + (part + 1) * share))
