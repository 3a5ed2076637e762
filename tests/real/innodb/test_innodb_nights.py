"""Nights of two releases of MariaDB, and of MySQL, from configuration to report."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.explain.settings import compare_settings
from pipeline.model import Revision
from pipeline.storage.bundle import read_bundle
from tests.conftest import Release
from tests.nights import Night, leftovers, make_night

STEPS = ("update-index", "read-write_range=10", "scan", "point-query", "delete", "insert")
TWO_CLIENTS = "clients = [1, 2]\ntables = 2\n"
SECOND_LINE = """
[[line]]
name = "old"
target = "mysql"
source = "npm"
revisions = ["{version}"]
"""


@dataclass(frozen=True)
class Measured:
    """A night that was measured, and the two releases of it."""

    night: Night
    family: str
    revisions: tuple[Revision, Revision]

    def versions(self) -> list[str]:
        return [revision.version for revision in self.revisions]


def _mariadb(folder: Path, releases_of: Callable[[str, str], Release]) -> Measured:
    old, new = (releases_of("mariadb", major).revision for major in ("10.11", "11.4"))
    night = make_night(
        folder,
        revisions=[old.version, new.version],
        steps=STEPS,
        repetitions=1,
        target="mariadb",
        config="small",
        more=TWO_CLIENTS,
    )
    return Measured(night, "small", (old, new))


def _mysql(folder: Path, releases_of: Callable[[str, str], Release]) -> Measured:
    """Two lines, because no source has both: nothing is as old and as new as these two."""
    old, new = (releases_of("mysql", major).revision for major in ("5.6", "9"))
    night = make_night(
        folder,
        revisions=[new.version],
        steps=STEPS,
        repetitions=1,
        target="mysql",
        config="small_gtid",
        more=TWO_CLIENTS + SECOND_LINE.format(version=old.version),
    )
    return Measured(night, "small_gtid", (old, new))


@pytest.fixture(scope="module", params=[_mariadb, _mysql], ids=["mariadb", "mysql"])
def measured(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    releases_of: Callable[[str, str], Release],
) -> Measured:
    """The two releases, measured; skips where they cannot be had."""
    made: Measured = request.param(tmp_path_factory.mktemp("night"), releases_of)
    made.night.run("nightly")
    return made


def test_two_majors_are_measured(measured: Measured, cache: Path) -> None:
    assert len(measured.night.bundles()) == 4
    columns: set[str] = set()
    values: list[float | None] = []
    for table in measured.night.tables():
        columns |= {column["name"].split("_")[0] for column in table["columns"]}
        values += [v for group in table["groups"] for row in group["rows"] for v in row["values"]]
    short = {"mariadb": "ma", "mysql": "my"}[measured.revisions[0].target]
    assert columns == {short + version.replace(".", "") for version in measured.versions()}
    assert len(values) == 2 * 2 * len(STEPS)
    assert all(value is not None and value > 0 for value in values)
    assert leftovers(cache) == []
    assert measured.night.json("nightly")["runs"] == 0


def test_a_bundle_holds_everything_about_its_run(measured: Measured) -> None:
    for path in (measured.night.folder / "results/bundles").glob("*.tar.zst"):
        bundle = read_bundle(path)
        head = bundle.manifest
        assert head.build.provenance.reported_version.split()[2].startswith(head.revision.version)
        assert head.config.family == measured.family
        settings = json.loads(bundle.files["settings.json"])
        assert settings["version"].startswith(head.revision.version)
        assert {phase.name for phase in head.phases} >= {"start", "load", "maintenance", "stop"}
        assert b"dirty pages: " in bundle.files["maintenance.log"]
        assert b"ready for connections" in bundle.files["server.log"]
        if measured.family.endswith("_gtid"):
            assert settings["gtid_mode"] == settings["enforce_gtid_consistency"] == "ON"


def test_the_work_of_all_threads_is_measured(measured: Measured) -> None:
    """A query is answered by a thread that the server started, never by its first."""
    values = {(run, step, metric): value for run, step, metric, value in measured.night.rows()}
    answered = [key for key in values if key[1:] == ("point-query_range=100", "qps")]
    assert len(answered) == 4
    for run, step, _ in answered:
        assert 1 < values[run, step, "cpu_us/o"] < 10_000
        # It waits for each query; where server and client take turns, that is a switch.
        assert 0.5 < values[run, step, "server_cs/o"] < 5
        assert values[run, step, "rss"] > 10_000_000


def test_two_runs_of_a_release_differ_in_no_setting(measured: Measured) -> None:
    settings: dict[str, list[dict[str, str]]] = {version: [] for version in measured.versions()}
    for path in (measured.night.folder / "results/bundles").glob("*.tar.zst"):
        bundle = read_bundle(path)
        version = bundle.manifest.revision.version
        settings[version].append(json.loads(bundle.files["settings.json"]))
    for one, other in settings.values():
        step = compare_settings(one, other)
        assert (step.changed, step.added, step.removed) == ((), (), ())


def test_the_page_shows_no_folder_of_a_run_as_a_changed_setting(measured: Measured) -> None:
    page = (measured.night.folder / "results/report.html").read_text()
    assert all(version in page for version in measured.versions())
    assert f"/runs/{measured.revisions[0].target}-" not in page
