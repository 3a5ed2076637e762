"""A bench packs to a bucket of a real S3 server, and the hub collects from it by the verbs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Nightshift, folder, nightshift, written
from tests.cli.test_places import bench
from tests.s3 import S3

__all__ = ["bench", "folder", "nightshift", "written"]


def test_a_bench_packs_to_a_bucket_that_the_hub_collects(
    nightshift: Nightshift, folder: Path, bench: Path, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3.bucket("outbox")
    for name, value in s3.environ.items():
        monkeypatch.setenv(name, value)
    config = str(bench / "nightshift.toml")
    sent = nightshift("pack", "s3://outbox/all/one", "--config", config, "--format", "json").json
    assert (sent["files"], sent["known"]) == (len(list((bench / "results/bundles").iterdir())), 0)
    again = nightshift("pack", "s3://outbox/all/one", "--config", config)
    assert again.out.startswith("0 files sent to s3://outbox/all/one")
    taken = nightshift("collect", "s3://outbox/all", "--format", "json")
    assert (taken.code, taken.json["bundles"]) == (0, sent["files"])
    assert nightshift("pack", "s3://outbox/plan", "--plan").code == 2
