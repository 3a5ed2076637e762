"""A store with known changes, made of real bundles that are really ingested."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Select, insert, select, update

from pipeline.measure.plan import Line, Plan
from pipeline.model import (
    Build,
    Cell,
    Machine,
    Manifest,
    Mode,
    Origin,
    Provenance,
    Revision,
    Scale,
    ServerConfig,
    Step,
    StepRecord,
    StepStatus,
    Workload,
    digest,
)
from pipeline.model.counts import INSTRUCTIONS
from pipeline.storage import schema
from pipeline.storage.bundle import VALUES_MEMBER, write_bundle
from pipeline.storage.database import open_store
from pipeline.storage.ingest import ingest

BEGAN = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)

STEPS = (
    Step(name="update-index_range=100", group="writes", unit="queries"),
    Step(name="scan_range=100", group="range queries without aggregation", unit="rows"),
    Step(name="point-query_range=100", group="point queries", unit="queries"),
)

Level = Callable[[str, int, str], float]
"""(step, position on the first line that has the revision, metric) -> factor of the level."""

Fails = Callable[[str, str, int], str]
"""(step, revision, repetition) -> why it failed, or nothing."""

METRICS = {
    "qps": 4000.0,
    "cpu_us/o": 180.0,
    "cpu/o": 0.012,
    "cs/o": 3.2,
    "server_cs/o": 1.1,
    "r/o": 0.0,
    "rKB/o": 0.0,
    "wKB/o": 0.42,
    "latency_p50": 0.24,
    "latency_p95": 0.41,
    "latency_p99": 0.77,
}


def unchanged(step: str, position: int, metric: str) -> float:
    return 1.0


def never(step: str, revision: str, repetition: int) -> str:
    return ""


def revision(version: str) -> Revision:
    label, _, copy = version.partition("#")
    return Revision(
        target="postgres",
        version=label,
        order=tuple(int(part) for part in label.split(".") if part.isdigit()),
        major=label.split(".")[0],
        copy_number=int(copy or 1),
    )


def make_store(
    folder: Path,
    lines: Mapping[str, Sequence[str]],
    *,
    steps: Sequence[Step] = STEPS,
    repetitions: int = 3,
    seconds: int = 1,
    clients: Sequence[int] = (1,),
    family: str = "sysbench",
    level: Level = unchanged,
    fails: Fails = never,
    left_out: Sequence[str] = (),
    kernels: Mapping[str, str] | None = None,
    metrics: Mapping[str, float] = METRICS,
    modes: Sequence[Mode] = (Mode.TIME,),
) -> tuple[Engine, Plan]:
    """Measure, ingest and return (store, plan); runs of ``left_out`` are planned only.

    Counted runs have instructions alone.
    """
    drawn = random.Random(7)
    workloads = [
        Workload(
            family=family,
            name="cached" if mode is Mode.TIME else "counted",
            version="1",
            mode=mode,
            scale=Scale(tables=1, rows=20000, clients=count, measure=seconds, warmup=0.25),
            steps=tuple(steps),
        )
        for mode in modes
        for count in clients
    ]
    config = ServerConfig(family="x10a", name="x10a_c2r4", text="shared_buffers = 2867MB\n")
    made = [
        Line(
            name=name,
            target="postgres",
            revisions=tuple(revision(version) for version in versions),
            cells=tuple(
                Cell(
                    revision=revision(version),
                    build_options="official",
                    config=config,
                    machine_class="test-c2r4",
                    workload=workload,
                )
                for workload in workloads
                for version in versions
            ),
        )
        for name, versions in lines.items()
    ]
    plan = Plan(lines=tuple(made), repetitions=repetitions)
    bundles, began = [], BEGAN
    for cell, repetition in plan.remaining(set()):
        if cell.revision.label in left_out:
            continue
        place = next(
            line.positions[cell.revision.label] for line in made if cell.revision in line.revisions
        )
        failed = {
            step.name: why
            for step in steps
            if (why := fails(step.name, cell.revision.label, repetition))
        }
        counted = cell.workload.mode is Mode.COUNT
        levels, noise = ({INSTRUCTIONS: 4000.0}, 0.0) if counted else (metrics, 0.006)
        values = {
            step.name: {
                name: value * level(step.name, place, name) * drawn.gauss(1, noise)
                for name, value in levels.items()
            }
            for step in steps
            if step.name not in failed
        }
        kernel = (kernels or {}).get(cell.revision.label, "6.1.0-18-amd64")
        manifest = _manifest(cell, repetition, began, steps, failed, kernel)
        began = manifest.ended_at
        bundles.append(
            write_bundle(
                folder / "bundles",
                manifest,
                {
                    VALUES_MEMBER: json.dumps(
                        {s.name: values.get(s.name, {}) for s in steps}
                    ).encode(),
                    "settings.json": json.dumps(_settings(cell.revision, repetition)).encode(),
                },
            )
        )
    store = open_store(f"sqlite:///{folder / 'store.db'}")
    report = ingest(store, bundles)
    assert report.taken == len(bundles), report.refused
    _add_timelines(store, seconds, drawn)
    return store, plan


def _add_timelines(store: Engine, seconds: int, drawn: random.Random) -> None:
    """Imported bundles have no output to take the throughput over time from."""
    with store.begin() as connection:
        ids = connection.execute(select(schema.step_run.c.id, schema.step_run.c.status)).all()
        for row in ids:
            points = [[float(at), 4000 * drawn.gauss(1, 0.03), 0.2] for at in range(1, seconds + 1)]
            connection.execute(
                update(schema.step_run)
                .where(schema.step_run.c.id == row.id)
                .values(timeline=points if row.status == StepStatus.OK else [])
            )


def over_time(store: Engine, step: str, revision: str, repetition: int, **columns: Any) -> None:
    """Say what a step of a run did over time, or how it ended, by the columns of the store."""
    chosen = _step_runs(step, revision, repetition)
    with store.begin() as connection:
        found = connection.execute(
            update(schema.step_run).where(schema.step_run.c.id.in_(chosen)).values(**columns)
        )
        assert found.rowcount > 0


def add_figure(
    store: Engine, step: str, revision: str, repetition: int, metric: str, value: float
) -> None:
    """Give a step of a run the value of a metric that no other has."""
    with store.begin() as connection:
        number = connection.execute(
            insert(schema.metric).values(name=metric).returning(schema.metric.c.id)
        ).scalar_one()
        for step_run in connection.execute(_step_runs(step, revision, repetition)).scalars().all():
            connection.execute(
                insert(schema.measurement).values(step_run=step_run, metric=number, value=value)
            )


def add_functions(
    store: Engine, step: str, revision: str, costs: Mapping[str, float], binary: str = "postgres"
) -> None:
    """Give a step of the counted runs of a revision the own costs of functions."""
    chosen = _step_runs(step, revision, 1).where(
        schema.run.c.workload_id == schema.workload.c.id,
        schema.workload.c.mode == Mode.COUNT.value,
    )
    with store.begin() as connection:
        for step_run in connection.execute(chosen).scalars().all():
            for name, cost in costs.items():
                known = select(schema.function.c.id).where(schema.function.c.name == name)
                number = (
                    connection.execute(known).scalar()
                    or connection.execute(
                        insert(schema.function)
                        .values(name=name, binary=binary)
                        .returning(schema.function.c.id)
                    ).scalar_one()
                )
                connection.execute(
                    insert(schema.function_cost).values(
                        step_run=step_run, function=number, self_cost=cost, inclusive_cost=cost
                    )
                )


def _step_runs(step: str, revision: str, repetition: int) -> Select[tuple[int]]:
    return (
        select(schema.step_run.c.id)
        .join(schema.run, schema.run.c.id == schema.step_run.c.run)
        .join(schema.step, schema.step.c.id == schema.step_run.c.step)
        .where(
            schema.step.c.name == step,
            schema.run.c.revision == revision,
            schema.run.c.repetition == repetition,
        )
    )


def _manifest(
    cell: Cell,
    repetition: int,
    began: datetime,
    steps: Sequence[Step],
    failed: Mapping[str, str],
    kernel: str,
) -> Manifest:
    version = cell.revision.version
    return Manifest(
        run_id=cell.run_id(repetition),
        # Not measured here: an imported bundle brings its values instead of raw output.
        origin=Origin.IMPORTED,
        revision=cell.revision,
        build=Build(
            target="postgres",
            version=version,
            options="official",
            hash=digest(version),
            provenance=Provenance(
                source="Maven Central",
                locator=f"org.example:postgres:{version}",
                sha256=digest([version, "archive"]),
                options="official",
                reported_version=f"postgres (PostgreSQL) {version}",
            ),
        ),
        config=cell.config,
        machine=Machine(
            machine_class=cell.machine_class,
            hostname="bench-1",
            cpu_model="AMD EPYC 9454P",
            cores=2,
            memory_bytes=4 * 2**30,
            kernel=kernel,
            operating_system="Debian GNU/Linux 12 (bookworm)",
            virtualised="kvm",
            storage="ext4 on vda (ssd)",
            settings={"governor": "performance", "transparent_hugepage": "madvise"},
        ),
        workload=cell.workload,
        cell_key=cell.key,
        repetition=repetition,
        started_at=began,
        ended_at=began + timedelta(seconds=15),
        steps=tuple(
            StepRecord(
                step=step,
                status=StepStatus.FAILED if step.name in failed else StepStatus.OK,
                started_at=began,
                wall_seconds=1.3,
                command=("sysbench",),
                folder="",
                note=failed.get(step.name, ""),
            )
            for step in steps
        ),
    )


def _settings(of: Revision, repetition: int) -> dict[str, str]:
    settings = {
        "port": str(40000 + repetition),
        "server_version": of.version,
        "shared_buffers": "367001 8kB",
        "effective_io_concurrency": "16" if int(of.major) >= 18 else "1",
    }
    if int(of.major) >= 15:
        settings["recovery_prefetch"] = "try"
    else:
        settings["vacuum_defer_cleanup_age"] = "0"
    if int(of.major) >= 18:
        settings["io_method"] = "worker"
    return settings
