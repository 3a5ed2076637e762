"""The base rates of a machine are those of its usual nights."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.storage.base_rates import usual_shares
from pipeline.storage.bundle import write_bundle
from tests.storage.bundles import make_run

TONIGHT = date(2026, 3, 1)


def put(folder: Path, ago: int, *shares: float, hostname: str = "host") -> None:
    """Write a run from some nights ago, with these shares of steal in its steps."""
    manifest, files = make_run(ago + 1)
    began = datetime(2026, 3, 1, 1, tzinfo=UTC) - timedelta(days=ago)
    steps = tuple(
        record.model_copy(update={"taken": {"steal": share}})
        for record, share in zip(manifest.steps, shares, strict=True)
    )
    changes = {
        "steps": steps,
        "started_at": began,
        "ended_at": began + timedelta(minutes=1),
        "machine": manifest.machine.model_copy(update={"hostname": hostname}),
    }
    write_bundle(folder, manifest.model_copy(update=changes), files)


def test_the_median_night_counts(tmp_path: Path) -> None:
    put(tmp_path, 1, 0.9, 0.9, 0.8)
    put(tmp_path, 2, 0.02, 0.03, 0.5)
    put(tmp_path, 3, 0.04, 0.01, 0.05)
    assert usual_shares(tmp_path, "host", TONIGHT) == {"steal": pytest.approx(0.04)}


def test_tonight_and_other_machines_do_not_count(tmp_path: Path) -> None:
    put(tmp_path, 0, 0.9, 0.9, 0.9)
    put(tmp_path, 1, 0.1, 0.1, 0.1)
    put(tmp_path, 2, 0.1, 0.1, 0.1)
    put(tmp_path, 3, 0.9, 0.9, 0.9, hostname="another")
    assert usual_shares(tmp_path, "host", TONIGHT) == {}
    put(tmp_path, 4, 0.2, 0.2, 0.2)
    assert usual_shares(tmp_path, "host", TONIGHT) == {"steal": pytest.approx(0.1)}


def test_without_bundles_nothing_is_usual(tmp_path: Path) -> None:
    assert usual_shares(tmp_path / "missing", "host", TONIGHT) == {}
    (tmp_path / "damaged.tar.zst").write_bytes(b"no bundle")
    assert usual_shares(tmp_path, "host", TONIGHT) == {}
