"""A night of two releases of SQLite, compiled, with the real sysbench, from config to report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.model import Build
from pipeline.storage.bundle import read_bundle
from tests.nights import Night, leftovers, make_night

VERSIONS = ("3.24.0", "3.46.0")


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory, sqlite_builds: Callable[..., Build]) -> Night:
    for version in VERSIONS:
        sqlite_builds(version, "rel_o2nofp")
    made = make_night(
        tmp_path_factory.mktemp("night"),
        revisions=VERSIONS,
        steps=["update-index", "read-write_range=10", "scan", "point-query", "delete", "insert"],
        target="sqlite",
        config="wal",
        more="clients = [1, 2]\ntables = 2\n",
    )
    made.run("nightly")
    return made


def test_two_releases_are_measured_and_compared(night: Night, cache: Path) -> None:
    assert len(night.bundles()) == 4
    tables = night.tables()
    assert len(tables) == 2
    for table in tables:
        names = [column["name"] for column in table["columns"]]
        assert [name.split(".")[0] for name in names] == [
            f"sl{version.replace('.', '')}_rel_o2nofp" for version in VERSIONS
        ]
        values = [v for group in table["groups"] for row in group["rows"] for v in row["values"]]
        assert len(values) == 12
        assert all(value is not None and value > 0 for value in values)
    assert leftovers(cache) == []
    assert night.json("nightly")["runs"] == 0


def test_a_bundle_holds_everything_about_its_run(night: Night) -> None:
    for path in (night.folder / "results/bundles").glob("*.tar.zst"):
        bundle = read_bundle(path)
        head = bundle.manifest
        version = head.revision.version
        assert head.build.options == "rel_o2nofp"
        assert head.build.provenance.reported_version.startswith(f"{version} ")
        assert head.build.provenance.locator.startswith("libsqlite3-sys ")
        assert head.build.provenance.flags == "-O2 -fno-omit-frame-pointer"
        assert head.config.family == "wal"
        settings = json.loads(bundle.files["settings.json"])
        assert (settings["version"], settings["journal_mode"]) == (version, "wal")
        assert {phase.name for phase in head.phases} >= {"start", "load", "maintenance", "stop"}
        assert b"pages in the log" in bundle.files["maintenance.log"]


def test_the_work_of_the_load_generator_is_the_server_s(night: Night) -> None:
    values = {(run, step, metric): value for run, step, metric, value in night.rows()}
    answered = [key for key in values if key[1:] == ("point-query_range=100", "qps")]
    assert len(answered) == 4
    for run, step, _ in answered:
        assert values[run, step, "qps"] > 1000
        # Where each client has a processor of its own, a query costs about the time it takes.
        assert 0.5 < values[run, step, "cpu_us/o"] < 1000
        assert values[run, step, "rss"] > 1_000_000
        assert values[run, step, "errors"] == 0


def test_the_settings_of_two_runs_differ_in_nothing_of_the_run(night: Night) -> None:
    page = (night.folder / "results/report.html").read_text()
    assert VERSIONS[1] in page
    assert "/runs/sqlite-" not in page, "a folder of a run is shown as a changed setting"
