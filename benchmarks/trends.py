"""From the store to a dashboard: how long all of a history takes, a night of it, and each query.

Makes a store of one line of ``--revisions`` revisions over three years, 40 steps in 50 metrics
each, and then

- publishes all of it into an empty, real Prometheus, as `nightshift publish --rebuild` does: both
  views, rQPS and what compares versions,
- publishes it again, when there is nothing to send, and then one more revision: a night,
- asks every query of every dashboard as Grafana does, for all steps, and prints the slowest.

Nothing listens beyond loopback and all is removed at the end.

    python -m benchmarks.trends --revisions 500
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Table, insert

from pipeline.measure.plan import Line, Plan
from pipeline.model import (
    Cell,
    Revision,
    Scale,
    ServerConfig,
    Step,
    Workload,
)
from pipeline.publish.all_groups import all_groups, opening
from pipeline.publish.checkpoint import Position, opened
from pipeline.publish.names import FIGURES
from pipeline.publish.remote import RemoteWriter
from pipeline.publish.sync import Synced, sync
from pipeline.storage import schema
from pipeline.storage.database import open_store
from tests.dashboards.grafana import Query, ask, boards, choices, queries, range_of
from tests.prometheus import Prometheus

METRICS = list(FIGURES)[:50]
STEPS = tuple(Step(name=f"step-{n:02d}", group=f"group {n % 4}", unit="queries") for n in range(40))
SPAN = timedelta(days=3 * 365)
REPEATS = 5
SHOWN = 8


def main() -> None:
    """Parse the options and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--revisions", type=int, default=500)
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="nightshift-trends-") as name:
        folder = Path(name)
        store, plan = make_store(folder, options.revisions + 1)
        server = Prometheus(folder)
        server.start()
        try:
            with opened(folder, server.write_url) as position:
                publish("everything", store, first(plan, options.revisions), server, position)
                publish("nothing new", store, first(plan, options.revisions), server, position)
                publish("a night", store, plan, server, position)
            ask_all(server)
        finally:
            server.kill()


def publish(what: str, store: Engine, plan: Plan, server: Prometheus, position: Position) -> None:
    """Send what the server does not have, and print how long that takes."""
    began, synced = time.perf_counter(), Synced()
    writer = RemoteWriter(server.write_url)
    writer.write(opening("benchmark", 0, datetime.now(UTC)))
    groups = all_groups(
        store,
        plan,
        None,
        (),
        (),
        (),
        position.known(),
        pipeline="benchmark",
        watched=("qps",),
        now=datetime.now(UTC),
    )
    sync(groups, position, writer.write, synced)
    assert synced.refused == 0
    print(f"{what}: {synced.samples:,} samples in {time.perf_counter() - began:.2f} s")


def ask_all(server: Prometheus) -> None:
    """Print the queries of the dashboards that take longest, each the median of some."""
    taken = []
    for name, board in boards().items():
        chosen = next(choices(server, board), None)
        if chosen is None:
            # Of nights, or of a workload that this store does not have.
            continue
        for query in queries(name, board):
            seconds = list(_seconds(server, query, range_of(board), chosen))
            taken.append((statistics.median(seconds), max(seconds), query))
    taken.sort(key=lambda each: -each[0])
    print(f"of {len(taken)} queries the slowest, median (most) of {REPEATS}:")
    for median, most, query in taken[:SHOWN]:
        print(f"  {median:.2f} s ({most:.2f})  {query.board}: {query.where}")


def _seconds(server: Prometheus, query: Query, span: Any, chosen: Any) -> Iterator[float]:
    for _ in range(REPEATS):
        began = time.perf_counter()
        ask(server, query, span, chosen)
        yield time.perf_counter() - began


def first(plan: Plan, count: int) -> Plan:
    """Return the plan of the first revisions of its line."""
    (line,) = plan.lines
    shorter = line.model_copy(
        update={"revisions": line.revisions[:count], "cells": line.cells[:count]}
    )
    return plan.model_copy(update={"lines": (shorter,)})


def make_store(folder: Path, count: int) -> tuple[Engine, Plan]:
    """Return a store with a run of each of so many commits, and the plan of their line."""
    began = datetime.now(UTC) - SPAN
    workload = Workload(
        family="sysbench",
        name="cached",
        version="1",
        scale=Scale(tables=1, rows=20_000, clients=1, measure=1, warmup=0.25),
        steps=STEPS,
    )
    config = ServerConfig(family="x10a", name="x10a_c2r4", text="")
    revisions = tuple(
        Revision(
            target="sqlite",
            version=f"{n:08x}",
            order=(n,),
            major="",
            at=began + n * SPAN / count,
        )
        for n in range(count)
    )
    cells = tuple(
        Cell(
            revision=revision,
            build_options="rel_o2nofp",
            config=config,
            machine_class="ax162-s",
            workload=workload,
        )
        for revision in revisions
    )
    line = Line(name="trunk", target="sqlite", revisions=revisions, cells=cells)
    store = open_store(f"sqlite:///{folder / 'store.db'}")
    with store.begin() as connection:
        _fill(connection, cells)
    return store, Plan(lines=(line,), repetitions=1)


def _fill(connection: Connection, cells: tuple[Cell, ...]) -> None:
    """Write the rows of runs, as an ingest of their bundles would."""
    random.seed(1)
    cell = cells[0]
    fingerprint = dict.fromkeys(("hostname", "cpu_model", "kernel", "operating_system"), "-")
    shared = {
        "build_id": _add(
            connection,
            schema.build,
            hash="b",
            target="sqlite",
            version="-",
            options=cell.build_options,
            program_hash="-",
            provenance={},
        ),
        "config_id": _add(
            connection, schema.config, hash="c", family="x10a", name="x10a_c2r4", text=""
        ),
        "machine_id": _add(
            connection,
            schema.machine,
            hash="m",
            machine_class=cell.machine_class,
            fingerprint={**fingerprint, "machine_class": cell.machine_class},
        ),
        "workload_id": _add(
            connection,
            schema.workload,
            hash=cell.workload.hash,
            family="sysbench",
            name=cell.workload.name,
            version="1",
            clients=1,
            definition=cell.workload.model_dump(mode="json"),
        ),
    }
    steps = [_add(connection, schema.step, **step.model_dump()) for step in STEPS]
    metrics = [_add(connection, schema.metric, name=name) for name in METRICS]
    for number, each in enumerate(cells):
        assert each.revision.at is not None
        at = each.revision.at + timedelta(hours=12)
        run = _add(
            connection,
            schema.run,
            run_id=each.run_id(1),
            bundle_sha256="-",
            origin="measured",
            cell_key=each.key,
            repetition=1,
            target="sqlite",
            revision=each.revision.label,
            revision_order=[number],
            pinning={},
            tools={},
            started_at=at,
            ended_at=at + timedelta(minutes=1),
            digest=str(number),
            **shared,
        )
        begin = 1 + number * len(steps)
        connection.execute(
            insert(schema.step_run),
            [
                {
                    "id": begin + place,
                    "run": run,
                    "step": step,
                    "place": place,
                    "status": "ok",
                    "note": "",
                    "timeline": [],
                }
                for place, step in enumerate(steps)
            ],
        )
        connection.execute(
            insert(schema.measurement),
            [
                {"step_run": begin + place, "metric": metric, "value": random.gauss(1e3, 10)}
                for place in range(len(steps))
                for metric in metrics
            ],
        )


def _add(connection: Connection, table: Table, **values: Any) -> int:
    added = insert(table).values(**values).returning(table.c.id)
    return int(connection.execute(added).scalar_one())


if __name__ == "__main__":
    main()
