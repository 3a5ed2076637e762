"""The same steps with ever more clients on several tables, on every SQL target."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.machine.pinning import available, show_pinning
from pipeline.model import Build
from pipeline.storage.bundle import read_bundle
from pipeline.workloads.sysbench.catalogue import step_named
from pipeline.workloads.sysbench.parse import parse_output
from tests.conftest import Release
from tests.nights import Night, leftovers, make_night

CLIENTS = (1, 2, 4)
STEPS = ("update-index_range=100", "read-write_range=10", "point-query_range=100")
OPTIONS = 'options = { measure_writes = "2s", maintain = "after every step" }'
CONFIGS = {"postgres": "x10a", "mysql": "small", "mariadb": "small", "sqlite": "wal"}


@pytest.fixture(scope="module", params=CONFIGS)
def night(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    releases_of: Callable[[str, str], Release],
) -> Night:
    """A night of one revision of a target; skips where it cannot be had."""
    target: str = request.param
    if target == "sqlite":
        builds: Callable[[str], Build] = request.getfixturevalue("sqlite_builds")
        version = builds("3.46.0").version
    else:
        major = {"postgres": "17", "mysql": "9", "mariadb": "11"}[target]
        version = releases_of(target, major).revision.version
    made = make_night(
        tmp_path_factory.mktemp(target),
        revisions=[version],
        steps=STEPS,
        target=target,
        config=CONFIGS[target],
        more=f"clients = {list(CLIENTS)}\ntables = 3\n{OPTIONS}\n",
    )
    made.run("nightly")
    return made


def test_each_number_of_clients_is_measured_on_all_tables(night: Night, cache: Path) -> None:
    bundles = [read_bundle(path) for path in (night.folder / "results/bundles").iterdir()]
    assert sorted(bundle.manifest.workload.scale.clients for bundle in bundles) == list(CLIENTS)
    for bundle in bundles:
        clients = bundle.manifest.workload.scale.clients
        assert [record.step.name for record in bundle.manifest.steps] == list(STEPS)
        maintained = [phase for phase in bundle.manifest.phases if phase.name == "maintenance"]
        assert len(maintained) == len(STEPS) - 1, "after each of the steps that write"
        for record in bundle.manifest.steps:
            assert {f"--threads={clients}", "--tables=3"} <= {*record.command}
            text = bundle.files[f"{record.folder}/stdout.txt"].decode()
            assert text.count("nightshift warmup thread=") == clients
            output = parse_output(text, step_named(record.step.name), 5000)
            assert output.seconds >= (1 if record.step.group == "point queries" else 2)
            assert output.operations > 0
    assert leftovers(cache) == []


def test_all_numbers_of_clients_have_one_placement(night: Night) -> None:
    manifests = [
        read_bundle(path).manifest for path in (night.folder / "results/bundles").iterdir()
    ]
    (pinning,) = {manifest.pinning for manifest in manifests}
    assert {manifest.workload.placed_for for manifest in manifests} == {max(CLIENTS)}
    if manifests[0].revision.target != "sqlite" and len(available()) > 1:
        assert set(pinning.server).isdisjoint(pinning.client)
    planned = night.run("plan").stdout
    assert f"processors of short on {manifests[0].revision.target}: " in planned
    assert show_pinning(pinning) in planned


def test_throughput_is_compared_within_each_number_of_clients(night: Night) -> None:
    tables = night.tables()
    assert len(tables) == len(CLIENTS)
    for table in tables:
        values = [v for group in table["groups"] for row in group["rows"] for v in row["values"]]
        assert len(values) == len(STEPS)
        assert all(value > 0 for value in values)


def test_throughput_is_compared_with_that_of_one_client(night: Night) -> None:
    head, *lines = [
        line.split()
        for line in night.run("table", "--layout", "scale-up").stdout.splitlines()
        if line.endswith(("clients", *STEPS)) and line[0].isdigit()
    ]
    assert head == [*map(str, CLIENTS), "clients"]
    assert {line[-1] for line in lines} == set(STEPS)
    for one, two, four, _ in lines:
        assert float(one) == 1
        assert min(float(two), float(four)) > 0
