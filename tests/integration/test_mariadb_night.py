"""A night of two releases of MariaDB with the real sysbench, from configuration to report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.bundle import read_bundle
from tests.conftest import Release
from tests.integration.nights import Night, leftovers, make_night

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def versions(releases_of: Callable[[str, str], Release]) -> tuple[str, str]:
    """The newest 10.11 and the newest 11.4; skips where they cannot be had."""
    old, new = (releases_of("mariadb", major).revision.version for major in ("10.11", "11.4"))
    return old, new


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory, versions: tuple[str, str]) -> Night:
    made = make_night(
        tmp_path_factory.mktemp("night"),
        revisions=versions,
        steps=["update-index", "read-write_range=10", "scan", "point-query", "delete", "insert"],
        repetitions=2,
        target="mariadb",
        config="z12b",
        more="clients = [1, 2]\ntables = 2\n",
    )
    made.run("nightly")
    return made


def test_two_majors_are_measured_and_compared(
    night: Night, versions: tuple[str, str], cache: Path
) -> None:
    assert len(night.bundles()) == 8
    tables = night.tables()
    assert len(tables) == 2
    for table in tables:
        names = [column["name"].split("_")[0] for column in table["columns"]]
        assert names == ["ma" + version.replace(".", "") for version in versions]
        values = [v for group in table["groups"] for row in group["rows"] for v in row["values"]]
        assert len(values) == 12
        assert all(value is not None and value > 0 for value in values)
    assert leftovers(cache) == []
    assert night.json("nightly")["runs"] == 0


def test_a_bundle_tells_everything_about_its_run(night: Night, versions: tuple[str, str]) -> None:
    for path in (night.folder / "results/bundles").glob("*.tar.zst"):
        bundle = read_bundle(path)
        head = bundle.manifest
        assert head.build.provenance.reported_version.split()[2].startswith(head.revision.version)
        assert head.config.family == "z12b"
        assert json.loads(bundle.files["settings.json"])["version"].startswith(
            head.revision.version
        )
        assert {phase.name for phase in head.phases} >= {"start", "load", "maintenance", "stop"}
        assert b"dirty pages: " in bundle.files["maintenance.log"]
        assert b"ready for connections" in bundle.files["server.log"]


def test_the_work_of_all_threads_is_measured(night: Night) -> None:
    """A query is answered by a thread that the server started, never by its first."""
    values = {(run, step, metric): value for run, step, metric, value in night.rows()}
    answered = [key for key in values if key[1:] == ("point-query_range=100", "qps")]
    assert len(answered) == 8
    for run, step, _ in answered:
        assert 1 < values[run, step, "cpu_us/o"] < 10_000
        # It waits for each query; where server and client take turns, that is a switch.
        assert 0.5 < values[run, step, "server_cs/o"] < 5
        assert values[run, step, "rss"] > 10_000_000


def test_the_settings_of_two_runs_differ_in_nothing_of_the_server(
    night: Night, versions: tuple[str, str]
) -> None:
    page = (night.folder / "results/report.html").read_text()
    assert versions[1] in page
    assert "/runs/mariadb-" not in page, "a folder of a run is shown as a changed setting"
