"""Runs of a plan without a server: bundles that bring their values with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from pipeline.model import (
    Build,
    Cell,
    Manifest,
    Origin,
    Provenance,
    StepRecord,
    StepStatus,
    digest,
)
from pipeline.storage.bundle import VALUES_MEMBER, write_bundle
from pipeline.use_cases.measuring import MeasuringContext

Level = Callable[[Cell, str], float]
"""(cell, step) -> queries per second."""

_AT = datetime(2026, 3, 1, tzinfo=UTC)


def level(cell: Cell, step: str) -> float:
    """100 queries per second, and 150 from 17.10 on."""
    return 150.0 if cell.revision.order >= (17, 10) else 100.0


def write_run(
    context: MeasuringContext, cell: Cell, repetition: int, levels: Level = level
) -> Path:
    """Write the bundle of one run."""
    values = {
        step.name: {
            "qps": levels(cell, step.name) * (1 + 0.001 * repetition),
            "cpu_us/o": 1e6 / levels(cell, step.name) * (1 + 0.001 * repetition),
        }
        for step in cell.workload.steps
    }
    return write_values(context, cell, repetition, values)


def write_values(
    context: MeasuringContext,
    cell: Cell,
    repetition: int,
    values: Mapping[str, Mapping[str, float]],
    at: datetime = _AT,
) -> Path:
    """Write the bundle of a run at some time that yielded these values, by step and metric."""
    version = cell.revision.version
    manifest = Manifest(
        run_id=cell.run_id(repetition),
        origin=Origin.IMPORTED,
        revision=cell.revision,
        build=Build(
            target="postgres",
            version=version,
            options="official",
            hash=digest(version),
            provenance=Provenance(source="x", locator=version, sha256="", options="official"),
        ),
        config=cell.config,
        machine=next(each for each in context.machines if each.machine_class == cell.machine_class),
        workload=cell.workload,
        cell_key=cell.key,
        repetition=repetition,
        started_at=at,
        ended_at=at,
        steps=tuple(
            StepRecord(
                step=step,
                status=StepStatus.OK,
                started_at=at,
                wall_seconds=1.0,
                command=("sysbench",),
                folder="",
            )
            for step in cell.workload.steps
        ),
    )
    data = {VALUES_MEMBER: json.dumps(values).encode(), "settings.json": b"{}"}
    return write_bundle(context.bundles, manifest, data)


def write_runs(quick: bool = False, leave: Iterable[str] = (), levels: Level = level) -> int:
    """Write the bundles of a whole plan, except of the revisions to ``leave``; how many."""
    context = MeasuringContext(Path("nightshift.toml"), quick)
    left = set(leave)
    runs = [
        (cell, repetition)
        for cell, repetition in context.plan().remaining(())
        if cell.revision.label not in left
    ]
    for cell, repetition in runs:
        write_run(context, cell, repetition, levels)
    return len(runs)
