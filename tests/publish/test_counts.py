"""Counted steps in a real Prometheus, and what the dashboard of instructions finds there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine

from pipeline.measure.plan import Plan
from pipeline.model import Mode
from pipeline.model.counts import INSTRUCTIONS
from pipeline.publish.all_groups import opening
from pipeline.publish.checkpoint import Position, opened
from pipeline.publish.measured_setups import measured_setups
from pipeline.publish.remote import RemoteWriter
from pipeline.publish.sync import Synced, sync
from tests.dashboards.grafana import Range, boards, choices, filled, panels
from tests.prometheus import Prometheus
from tests.publish.stores import dated, groups_of
from tests.site.page_store import make_store

VERSIONS = ("17.7", "17.8", "17.9")
MADE = {
    "17.7": datetime(2025, 11, 10, 13, tzinfo=UTC),
    "17.8": datetime(2025, 12, 10, 13, tzinfo=UTC),
    "17.9": datetime(2026, 1, 10, 13, tzinfo=UTC),
}
LATER = datetime(2026, 3, 10, tzinfo=UTC).timestamp()
"""After every revision and every run."""


def level(step: str, place: int, metric: str) -> float:
    """From 17.8 on a scan executes .2 % more, and everything takes a tenth more time."""
    if metric == INSTRUCTIONS:
        return 1.002 if (place >= 1, step) == (True, "scan_range=100") else 1.0
    return 1.1 if metric == "cpu_us/o" and place >= 1 else 1.0


@pytest.fixture
def position(tmp_path: Path) -> Iterator[Position]:
    with opened(tmp_path, "u") as position:
        yield position


@pytest.fixture
def made(tmp_path: Path) -> tuple[Engine, Plan]:
    modes = (Mode.TIME, Mode.COUNT)
    store, plan = make_store(tmp_path, {"minors": VERSIONS}, level=level, modes=modes)
    return store, dated(plan, MADE)


def test_counted_series_have_a_mode_and_timed_ones_keep_their_keys(
    made: tuple[Engine, Plan],
) -> None:
    keys = {measured.setup.mode: measured.setup.key for measured in measured_setups(*made)}
    assert keys["count"].endswith(" 1 count")
    assert keys[""].startswith("minors postgres x10a official test-c2r4 cached ")
    assert keys[""].endswith(" 1")


def test_the_dashboard_shows_instructions_beside_time(
    made: tuple[Engine, Plan], position: Position, prometheus: Prometheus
) -> None:
    store, plan = made
    write = RemoteWriter(prometheus.write_url, patience=0.1).write
    write(opening("test", 0, datetime.now(UTC)))
    synced = Synced()
    sync(groups_of(store, plan, None, (), position.known()), position, write, synced)
    assert (synced.refused, synced.complete) == (0, True)
    board = boards()["counts"]
    span = Range(LATER - 365 * 86400, LATER)
    chosen = next(each for each in choices(prometheus, board) if each["base"] == "17.7")
    shown = {panel["title"]: panel for panel in panels(board)}

    def asked(title: str, query: int = 0) -> dict[str, float]:
        expression = filled(shown[title]["targets"][query]["expr"], span, chosen)
        found = prometheus.query(expression, at=LATER)
        named = {
            " ".join((s["step"], s.get("revision", ""))): value
            for series, value in found.items()
            if (s := dict(series))
        }
        assert len(named) == len(found)
        return named

    newest = "Newest revision over $base, most instructions first"
    instructions, cpu, qps = (asked(newest, query) for query in range(3))
    assert instructions == {
        "scan_range=100 ": pytest.approx(1.002),
        "point-query_range=100 ": pytest.approx(1.0),
        "update-index_range=100 ": pytest.approx(1.0),
    }
    assert [*cpu.values()] == [pytest.approx(1.1, abs=0.03)] * 3
    assert [*qps.values()] == [pytest.approx(1.0, abs=0.03)] * 3
    grid = asked("Instructions of versions over $base")
    assert [grid[f"scan_range=100 {version}"] for version in VERSIONS] == [
        1.0,
        pytest.approx(1.002),
        pytest.approx(1.002),
    ]
    step, _ = span.step
    start, end = (moment // step * step for moment in (span.start, span.end))
    for title, scan, within in (
        ("Instructions per operation over $base", 1.002, 1e-6),
        ("Processor time per operation over $base", 1.1, 0.03),
    ):
        expression = filled(shown[title]["targets"][0]["expr"], span, chosen)
        lines = prometheus.query_range(expression, start, end, step)
        assert [len(points) for points in lines.values()] == [len(VERSIONS)] * 3
        (points,) = (
            points for series, points in lines.items() if dict(series)["step"] == "scan_range=100"
        )
        assert points[-1].value == pytest.approx(scan, abs=within)
