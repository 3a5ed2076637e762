"""A database larger than the memory of its workload is read from storage; a smaller one is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.machine.memory_limit import check_memory_limits
from pipeline.storage.bundle import read_bundle
from pipeline.storage.ingest import steps_of
from pipeline.text.errors import UserError
from tests.conftest import Release
from tests.nights import make_night

REPETITIONS = 2

IO_BOUND = """
memory = "1GB"
measure = "15s"
warmup = "5s"
tables = 4
rows = 2000000

[[workload]]
name = "twin"
config = "small"
rows = 100000
tables = 4
memory = "1GB"
steps = ["point-query"]
measure = "5s"
warmup = "2s"
"""


@pytest.fixture(scope="module")
def reads(
    tmp_path_factory: pytest.TempPathFactory, releases_of: Callable[[str, str], Release]
) -> dict[str, list[float]]:
    """The reads per operation of every repetition, by workload."""
    try:
        check_memory_limits()
    except UserError as error:
        pytest.skip(str(error))
    release = releases_of("mariadb", "11.4")
    night = make_night(
        tmp_path_factory.mktemp("night"),
        revisions=[release.revision.version],
        steps=("point-query",),
        repetitions=REPETITIONS,
        target="mariadb",
        config="small",
    )
    file = night.folder / "nightshift.toml"
    text = file.read_text()
    for setting in ("rows = 5000\n", 'measure = "1s"\n', 'warmup = "100ms"\n'):
        assert setting in text
        text = text.replace(setting, "")
    file.write_text(text + IO_BOUND)
    night.run("discover")
    night.run("run")
    found: dict[str, list[float]] = {}
    for path in sorted((night.folder / "results/bundles").iterdir()):
        bundle = read_bundle(path)
        assert bundle.manifest.workload.memory_bytes == 10**9
        assert bundle.manifest.config.name.endswith("r1")
        (step,) = steps_of(bundle)
        found.setdefault(bundle.manifest.workload.name, []).append(step.values["r/o"])
    return found


def test_a_larger_database_is_read_from_storage(reads: dict[str, list[float]]) -> None:
    assert len(reads["short"]) == REPETITIONS
    least, most = min(reads["short"]), max(reads["short"])
    assert least > 0.5
    assert most / least < 1.1


def test_its_cached_twin_is_not(reads: dict[str, list[float]]) -> None:
    assert len(reads["twin"]) == REPETITIONS
    assert max(reads["twin"]) < 0.005


def test_the_group_is_gone(reads: dict[str, list[float]]) -> None:
    assert reads
    assert not list(Path("/sys/fs/cgroup").glob("**/nightshift-*"))
