"""One real night of each DBMS, by the installed command: from configuration to report and site."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline.model import StepStatus
from pipeline.storage.bundle import read_bundle
from tests.conftest import Release
from tests.nights import leftovers, make_night
from tests.repositories import FAST_BUILD


class Smoke(NamedTuple):
    """What is measured of a DBMS. Without a major the release is SQLite's, compiled here."""

    major: str
    config: str
    steps: tuple[str, ...] = ("point-query", "update-index")
    more: str = ""
    rows: int = 1000


SMOKES = {
    "postgres": Smoke("17", "x10a"),
    "mysql": Smoke("9", "small"),
    "mariadb": Smoke("11.4", "small"),
    "sqlite": Smoke("", "wal", more=FAST_BUILD),
    "rocksdb": Smoke(
        "9.10", "byrx", ("readwhilewriting", "overwrite"), 'family = "db_bench"\n', 50_000
    ),
}


@pytest.mark.parametrize("target", SMOKES)
def test_a_night_goes_from_configuration_to_report(
    tmp_path: Path, cache: Path, releases_of: Callable[[str, str], Release], target: str
) -> None:
    smoke = SMOKES[target]
    version = releases_of(target, smoke.major).revision.version if smoke.major else "3.46.0"
    night = make_night(
        tmp_path,
        revisions=[version],
        steps=smoke.steps,
        target=target,
        config=smoke.config,
        more=smoke.more,
    )
    config = night.folder / "nightshift.toml"
    text = config.read_text().replace("rows = 5000", f"rows = {smoke.rows}")
    # Of a step of a second, a busy machine takes a single sample.
    text = text.replace('measure = "1s"', 'measure = "3s"')
    if target == "sqlite":
        text = text.replace('target = "sqlite"', 'target = "sqlite"\nbuild = "fast_to_compile"')
    config.write_text(text)

    night.run("nightly")

    (path,) = night.folder.glob("results/bundles/*.tar.zst")
    bundle = read_bundle(path)
    head = bundle.manifest
    assert (head.revision.target, head.revision.version) == (target, version)
    assert version.split("-")[0] in head.build.provenance.reported_version
    assert [step.status for step in head.steps] == [StepStatus.OK] * len(head.steps)
    assert {phase.name for phase in head.phases} >= {"start", "maintenance", "stop"}
    assert all(bundle.files[f"{step.folder}/stdout.txt"] for step in head.steps)
    values = {(step, metric): value for _, step, metric, value in night.rows()}
    assert all(values[step.step.name, "qps"] > 0 for step in head.steps)
    # RocksDB's fillseq of so few rows ends before the first sample.
    sampled = {step for step, metric in values if metric == "cpu_us/o"}
    assert len(sampled) >= len(smoke.steps)
    (table,) = night.tables()
    assert len([row for group in table["groups"] for row in group["rows"]]) == len(head.steps)
    results = night.folder / "results"
    assert version in (results / "report.html").read_text()
    assert (results / "site/index.html").exists()
    assert leftovers(cache) == []
    assert night.json("nightly")["runs"] == 0
