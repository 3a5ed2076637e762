"""Small but real bundles: sysbench's own output as captured, samples and settings."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pipeline.model import (
    Build,
    Cell,
    Machine,
    Manifest,
    Origin,
    ProbeSample,
    Provenance,
    Revision,
    Scale,
    ServerConfig,
    Step,
    StepRecord,
    StepStatus,
    Workload,
)
from pipeline.probes.base import dump_samples
from pipeline.storage.bundle import write_bundle

CAPTURED = Path(__file__).parents[1] / "workloads" / "data"

STEPS = {
    "write-only": Step(name="write-only_range=10000", group="writes", unit="queries"),
    "scan": Step(name="scan_range=100", group="range queries without aggregation", unit="rows"),
    "point-query": Step(name="point-query_range=100", group="point queries", unit="queries"),
}
"""The steps whose output was captured, in the published order, by the file's name."""

Files = dict[str, bytes]


def make_run(
    minor: int = 1, repetition: int = 1, *, faster: float = 1.0, **changes: Any
) -> tuple[Manifest, Files]:
    """Return the manifest and the files of a run of Postgres 17.``minor``.

    ``faster`` divides the measured seconds; ``changes`` replace fields of the manifest.
    Runs of one minor start one after another, runs of a later minor on another day.
    """
    revision = Revision(
        target="postgres", version=f"17.{minor}", order=(17, minor), major="17", locator="x"
    )
    workload = Workload(
        family="sysbench",
        name="cached",
        version="1",
        scale=Scale(tables=1, rows=1000, clients=1, measure=3, warmup=0.3),
        steps=tuple(STEPS.values()),
    )
    config = ServerConfig(family="x10a", name="x10a_c2r4", text="shared_buffers = 1GB\n")
    cell = Cell(
        revision=revision,
        build_options="official",
        config=config,
        machine_class="test",
        workload=workload,
    )
    started = datetime(2026, 1, minor, repetition, tzinfo=UTC)
    files: Files = {
        "settings.json": json.dumps({"jit": "off", "server_version": f"17.{minor}"}).encode()
    }
    records = []
    for place, (captured, step) in enumerate(STEPS.items(), start=1):
        folder = f"steps/{place:02d}"
        files[f"{folder}/stdout.txt"] = output(captured, faster)
        files[f"{folder}/samples.jsonl"] = dump_samples(SAMPLES)
        records.append(
            StepRecord(
                step=step,
                status=StepStatus.OK,
                started_at=started + timedelta(seconds=place),
                wall_seconds=3.2,
                command=("sysbench", "run"),
                folder=folder,
                database_bytes=8_000_000 + minor,
            )
        )
    manifest = Manifest(
        run_id=cell.run_id(repetition),
        origin=Origin.MEASURED,
        revision=revision,
        build=Build(
            target="postgres",
            version=revision.version,
            options="official",
            hash=f"{minor:064x}",
            provenance=Provenance(source="test", locator="x", sha256="", options="official"),
        ),
        config=config,
        machine=Machine(
            machine_class="test",
            hostname="host",
            cpu_model="cpu",
            cores=2,
            memory_bytes=2**32,
            kernel="6.1",
            operating_system="Debian",
            virtualised="",
            storage="ext4",
        ),
        workload=workload,
        cell_key=cell.key,
        repetition=repetition,
        started_at=started,
        ended_at=started + timedelta(minutes=1),
        steps=tuple(records),
    )
    return manifest.model_copy(update=changes), files


def put_run(folder: Path, minor: int = 1, repetition: int = 1, **options: Any) -> Path:
    """Write the bundle of such a run."""
    return write_bundle(folder, *make_run(minor, repetition, **options))


def put_night(folder: Path, minors: int = 3, repetitions: int = 2) -> list[Path]:
    """Write the bundles of a night and return them in the order of its measuring."""
    return [
        put_run(folder, minor, repetition, faster=1 + minor / 10 + repetition / 100)
        for minor in range(9, 9 + minors)
        for repetition in range(1, repetitions + 1)
    ]


def output(captured: str, faster: float = 1.0) -> bytes:
    """Return captured output, its measured time divided by ``faster``."""
    text = (CAPTURED / f"{captured}.txt").read_text()

    def shorter(found: re.Match[str]) -> str:
        return f"total seconds={float(found[1]) / faster:.6f}"

    return re.sub(r"total seconds=([\d.]+)", shorter, text).encode()


def sample(at: float, **values: float) -> ProbeSample:
    """Return a sample; a dot in a name is written as two underscores."""
    return ProbeSample(at, {name.replace("__", "."): value for name, value in values.items()})


SAMPLES = [
    sample(0.0, host__user=10.0, host__system=5.0, host__total=100.0, server__cpu_us=1e6),
    sample(2.9, host__user=12.0, host__system=6.0, host__total=106.0, server__cpu_us=3e6),
]
