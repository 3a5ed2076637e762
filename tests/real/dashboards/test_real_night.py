"""Every panel over what a real night published: a slow commit, counts, an Insert Benchmark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.conftest import Release
from tests.dashboards.asked import unanswered, unoffered
from tests.dashboards.grafana import boards, choices, filled, panels, range_of
from tests.nights import give_own_cache, make_night
from tests.prometheus import CONFIG, Prometheus
from tests.repositories import commit, releases_as_commits

BOARDS = boards()

STEP = "SQLITE_API int sqlite3_step(sqlite3_stmt *pStmt){\n"
WAIT = "  { volatile int i; for(i=0; i<20000; i++){} }\n"
"""Several times what a point query takes, so that no noise hides it."""

GOOD, BAD = 3, 3
"""Commits before the slow one, and from it on."""

SETTINGS = """
lines = ["branch"]

[[workload]]
name = "counts"
mode = "count"
lines = ["branch"]
config = "wal"
rows = 1000
steps = ["point-query"]

[[workload]]
name = "inserts"
lines = ["control"]
family = "insert_benchmark"
config = "x10a"
rows = 3000
steps = ["qr100"]
measure = "15s"
warmup = "100ms"
options = {{ rows_i1 = 4000, rows_i2 = 1000 }}

[[line]]
name = "control"
target = "postgres"
revisions = ["{version}", "{version}#2"]

[[build]]
name = "fast_to_compile"
flags = "-O0 -fno-omit-frame-pointer"

[confirm]
night = "5s"

[publish]
url = "{url}"
"""

NOT_OF_THIS_NIGHT: Mapping[str, str] = {
    r'worse="false"': "nothing became better",
    r"_server_expires_timestamp_seconds": "no bench server was created",
    r"_reap_timestamp_seconds": "no bench server was created",
    r"_drift_ratio\{target|_oscillation_ratio": "steps are shorter than 30 and 120 seconds",
    r"_compaction_": "nothing ran on RocksDB",
    r"_processor_events_per_operation\{(?![^}]*mode=\"count\")": (
        "the processor's counters are not available everywhere"
    ),
    r"_pressure_ratio": "not every kernel keeps pressure stall information",
}
"""Expressions of figures that such a night does not have, and why."""


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory,
    server_root: Path,
    cache: Path,
    releases: Callable[[str], Release],
) -> Iterator[Prometheus]:
    """A Prometheus to which a night was published."""
    folder = tmp_path_factory.mktemp("night")
    repository = folder / "repository"
    with pytest.MonkeyPatch.context() as patch:
        commits(repository, cache, patch)
    started = Prometheus(tmp_path_factory.mktemp("prometheus"), CONFIG)
    started.start()
    try:
        night = make_night(
            folder / "night",
            revisions=[],
            steps=["point-query"],
            target="sqlite",
            config="wal",
            repetitions=3,
            more=SETTINGS.format(version=releases("17").revision.version, url=started.write_url),
        )
        config = night.folder / "nightshift.toml"
        text = config.read_text().replace('name = "line"', 'name = "branch"')
        text = text.replace("[machine]", '[machine]\nprice_per_hour = "0.34 EUR"')
        text = text.replace(
            "revisions = []",
            f'source = "git"\nrepository = "{repository}"\nbuild = "fast_to_compile"',
            1,
        )
        config.write_text(text)
        give_own_cache(night, server_root / "dashboards", cache)
        night.run("nightly")
        yield started
    finally:
        started.kill()


def commits(repository: Path, cache: Path, patch: pytest.MonkeyPatch) -> None:
    """Make a branch of small commits a day apart, of which one is slow."""

    def next_day(day: int) -> None:
        for who in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{who}_DATE", f"2026-01-{day:02d}T12:00:00Z")

    next_day(1)
    releases_as_commits(repository, ["3.46.0"], cache)
    code = repository / "sqlite3.c"
    for number in range(1, GOOD + BAD):
        next_day(number + 1)
        if number == GOOD:
            assert code.read_text().count(STEP) == 1
            code.write_text(code.read_text().replace(STEP, STEP + WAIT))
        (repository / "README").write_text(f"{number} words\n")
        commit(repository, f"Change {number}")


@pytest.mark.parametrize("name", BOARDS)
def test_every_panel_event_and_variable_has_data(server: Prometheus, name: str) -> None:
    missing = [
        (query.where, query.expression)
        for query in unanswered(server, name, BOARDS[name])
        if not any(re.search(pattern, query.expression) for pattern in NOT_OF_THIS_NIGHT)
    ]
    assert missing == []
    assert unoffered(server, BOARDS[name]) == []


def test_the_slow_commit_is_what_needs_a_look(server: Prometheus) -> None:
    board = BOARDS["overview"]
    [panel] = [each for each in panels(board) if each["title"] == "Regressions that need a look"]
    expression = filled(panel["targets"][0]["expr"], range_of(board), next(choices(server, board)))
    [(series, effect)] = server.query(expression).items()
    assert dict(series)["line"] == "branch"
    assert abs(effect) > 0.3
