"""A small database of tproc-c on one DBMS, and what is asked of it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.model import Connection, Scale, Workload
from pipeline.workloads.base import Command, Load, Measure
from pipeline.workloads.base.sysbench import connection_options
from pipeline.workloads.tproc_c.family import STEP, TABLES, TprocC
from pipeline.workloads.tproc_c.sysbench import SCRIPTS
from tests.workloads.databases import MySQLDatabase, PostgresDatabase, Row
from tests.workloads.sysbench_runner import LONGEST_SECONDS, run_script

WAREHOUSES, CUSTOMERS, ITEMS = 2, 60, 200
SIZE = {"warehouses": WAREHOUSES, "customers": CUSTOMERS, "items": ITEMS}
DELIVERED = 42
"""Seven orders of ten are loaded as delivered: 2100 of 3000."""

RESULTS = {
    "tproc_new_order": ("order_id", "total", "order_lines"),
    "tproc_payment": ("customer_id", "balance", "details"),
    "tproc_order_status": ("customer_id", "balance", "order_id", "order_lines"),
    "tproc_delivery": ("delivered",),
    "tproc_stock_level": ("low_stock",),
}


def workload(measure: float = 2.0, warmup: float = 0.0) -> Workload:
    """Return the workload of four virtual users."""
    scale = Scale(tables=1, rows=1000, clients=4, measure=measure, warmup=warmup)
    return TprocC().workload("tpcc", ["all"], scale, SIZE)


@dataclass(frozen=True)
class Shop:
    """A loaded database, with a session of its own."""

    database: PostgresDatabase | MySQLDatabase

    @property
    def connection(self) -> Connection:
        return self.database.connection

    @property
    def speaks_mysql(self) -> bool:
        return self.connection.driver == "mysql"

    def rows(self, query: str) -> list[Row]:
        return self.database.rows(query)

    def value(self, query: str) -> Any:
        ((found,),) = self.rows(query)
        return found

    def do(self, *statements: str) -> None:
        """Run statements that have no result."""
        self.database.do(*statements)

    def call(self, name: str, *arguments: object) -> Mapping[str, Any]:
        """Call a transaction and return what comes out."""
        given = ", ".join(map(repr, arguments))
        if self.speaks_mysql:
            variables = ", ".join(f"@{result}" for result in RESULTS[name])
            self.rows(f"CALL {name}({given}, {variables})")
            (row,) = self.rows(f"SELECT {variables}")
        else:
            (row,) = self.rows(f"SELECT * FROM {name}({given})")
        return dict(zip(RESULTS[name], row, strict=True))

    def run(self, work: Workload) -> subprocess.CompletedProcess[str]:
        """Run the step's own command."""
        return _run(Measure(step=STEP), work, self.connection)

    def one(self) -> subprocess.CompletedProcess[str]:
        """Run one transaction in the first warehouse, and the check after it.

        Always the same one: a delivery now and then would leave other orders than were loaded.
        """
        return run_script(
            SCRIPTS / "tproc_c.lua",
            *connection_options(self.connection),
            "--warehouses=1",
            f"--customers={CUSTOMERS}",
            f"--items={ITEMS}",
            "--rand-seed=7",
            "--events=1",
            "--time=0",
            "run",
        )


def _run(
    action: Command, work: Workload, connection: Connection
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        TprocC().command(action, work, connection, 7),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )


def loaded(database: PostgresDatabase | MySQLDatabase) -> Shop:
    """Load the database, anew if it was, with statistics, as maintenance does after a load.

    Otherwise plans change when the server makes the statistics by itself.
    """
    done = _run(Load(), workload(), database.connection)
    assert done.returncode == 0, done.stdout
    shop = Shop(database)
    command = "ANALYZE TABLE" if shop.speaks_mysql else "ANALYZE"
    shop.do(*(f"{command} {table}" for table in TABLES))
    return shop


def drop(shop: Shop) -> None:
    """Leave nothing behind: other tests use the server, too."""
    shop.do(*(f"DROP TABLE {table}" for table in TABLES))
    kind = "PROCEDURE" if shop.speaks_mysql else "FUNCTION"
    shop.do(*(f"DROP {kind} {name}" for name in RESULTS))
