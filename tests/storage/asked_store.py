"""A store with everything that the documented queries ask for, on either database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Engine, insert, select

from pipeline.measure.plan import Plan
from pipeline.model import Mode, StepStatus
from pipeline.storage.queries import RegressionRow
from pipeline.storage.schema import metadata
from tests.site.page_store import add_functions, make_store, over_time

MINORS = ("17.5", "17.6", "17.7", "17.8", "17.9", "17.10")
SCAN, POINT = "scan_range=100", "point-query_range=100"


def level(step: str, position: int, metric: str) -> float:
    """From 17.7 on, scans use more CPU and point queries wait."""
    if position >= 2 and step in (SCAN, POINT):
        return {"qps": 0.86, "cpu_us/o": 1.16 if step == SCAN else 1.0}.get(metric, 1.0)
    return 1.0


def make_asked(folder: Path) -> tuple[Engine, Plan]:
    """Make the store in a folder, on SQLite."""
    store, plan = make_store(
        folder,
        {"minors": MINORS, "later": MINORS[3:]},
        level=level,
        clients=(1, 4),
        seconds=4,
        modes=(Mode.TIME, Mode.COUNT),
    )
    # The only runs of 17.5 that were not disturbed are the first ones; 17.10 has none.
    for revision, repetitions in (("17.5", (2, 3)), ("17.10", (1, 2, 3))):
        for repetition in repetitions:
            disturbed = {"steal": "12 % of the CPU"}
            over_time(store, SCAN, revision, repetition, disturbed=disturbed)
    stalled = [[float(at), 100.0 if at == 3 else 4000.0, None] for at in range(1, 5)]
    over_time(store, POINT, "17.9", 1, timeline=stalled)
    over_time(store, POINT, "17.8", 2, status=StepStatus.SLA_FAILED.value)
    for revision in MINORS:
        grown = 200.0 * (revision in MINORS[2:])
        add_functions(store, SCAN, revision, {"heap_getnext": 900.0 + grown, "ExecScan": 300.0})
        add_functions(store, POINT, revision, {"ExecScan": 150.0, "bt_search": 500.0})
    return store, plan


def copy_store(source: Engine, target: Engine) -> None:
    """Copy every row of a store into an empty one."""
    with source.connect() as rows, target.begin() as connection:
        for table in metadata.sorted_tables:
            found = [dict(row._mapping) for row in rows.execute(select(table))]
            if found:
                connection.execute(insert(table), found)


def stated(**changed: Any) -> RegressionRow:
    """Return a row of the view ``regression``, some columns of which are changed."""
    row = RegressionRow(
        fingerprint="3f2a91c04b7d",
        state="confirmed",
        kind="level",
        direction="regression",
        cause="cpu",
        target="postgres",
        line="minors",
        last_good="17.6",
        first_bad="17.7",
        position=2,
        found_at="2026-03-02 05:00:00+00:00",
        culprit=None,
        recovers=None,
        decided_by=None,
        decided_at=None,
        expires=None,
        note="",
        reason="",
        worst=True,
        workload="cached",
        workload_hash="h",
        clients=1,
        mode="time",
        config="x10a",
        build_options="official",
        machine_class="test-c2r4",
        step=SCAN,
        metric="qps",
        level_before=4000.0,
        level_after=3440.0,
        effect=-0.14,
        effect_low=-0.15,
        effect_high=-0.13,
        pvalue=1e-9,
    )
    return row._replace(**changed)


REGRESSIONS = (
    stated(),
    stated(worst=False, metric="cpu_us/o", effect=0.16, effect_low=0.15, effect_high=0.17),
    stated(
        fingerprint="aa00bb11cc22",
        state="acknowledged",
        step=POINT,
        decided_by="ada",
        decided_at="2026-03-03 08:00:00+00:00",
        expires="2031-12-31",
        note="waits for 17.12",
    ),
)
"""Rows of the view ``regression``."""
