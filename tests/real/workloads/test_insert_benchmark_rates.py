"""The Insert Benchmark's background connections sustain their rates beside the queries."""

from __future__ import annotations

import pytest

from tests.workloads.databases import Database
from tests.workloads.insert_benchmark_databases import CLIENTS, database
from tests.workloads.insert_benchmark_runner import run, workload

__all__ = ["database"]

SECONDS = 6.0
"""Long enough that one pause of half a second, which is made up for, moves no rate by 2 %."""


@pytest.mark.parametrize("database", ["postgres", "mariadb", "mysql"], indirect=True)
@pytest.mark.parametrize("step", ["qr100", "qp1000"])
def test_rates_beside_the_queries_are_sustained(database: Database, step: str) -> None:
    ran = run(workload(step, clients=CLIENTS, measure=SECONDS), database.connection)[step]
    for kind in ("inserts", "deletes"):
        beside = ran.output.background[kind]
        assert beside.target is not None
        assert beside.achieved == pytest.approx(beside.target, rel=0.02), kind
