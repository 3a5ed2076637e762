"""How fast the store is: taking bundles in, rebuilding, and reading a table out of them.

Writes real bundles of 50 revisions x 3 repetitions x as many numbers of clients as it takes
(32 steps each, with sysbench's own output as captured for the tests, and a sample of every
probe for every second), and times, with one store at ``--url``:

- ingest of all of them into an empty store,
- rebuild: emptying the store and taking them again,
- the relative table of 50 revisions x 32 steps, the median of repeated calls.

Making the bundles is not counted. A store that holds runs is refused; what the benchmark wrote
is removed at the end.

    python benchmarks/store.py --url postgresql+psycopg://user@/db?host=/run/postgresql
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import platform
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from sqlalchemy import Engine

from pipeline.machine.fingerprint import fingerprint
from pipeline.measure.plan import Line
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
    Step,
    StepRecord,
    StepStatus,
    Workload,
    digest,
)
from pipeline.probes.base import dump_samples
from pipeline.report.relative import Table, relative_to
from pipeline.report.tables import measured_subject
from pipeline.storage.bundle import bundle_path, list_bundles, write_bundle
from pipeline.storage.database import empty_store, open_store
from pipeline.storage.ingest import ingest
from pipeline.storage.measurements import count_measurements
from pipeline.storage.runs import runs
from pipeline.targets import find_target
from pipeline.workloads import find_family

CAPTURED = Path(__file__).resolve().parents[1] / "tests" / "workloads" / "data"
REVISIONS, REPETITIONS = 50, 3
METRICS_OF_A_STEP = 27
"""What the store derives of a step of ten seconds and more; checked after the first ingest."""

_INTERVAL = re.compile(r"^nightshift interval t=\S+ dt=\S+ events=(\d+)", re.MULTILINE)


def main() -> None:
    """Make the bundles, time everything, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="", help="of an empty store; SQLite if not given")
    parser.add_argument("--measurements", type=int, default=1_000_000, help="at least so many")
    parser.add_argument("--seconds", type=int, default=10, help="of each step")
    parser.add_argument("--tables", type=int, default=15, help="calls that are timed")
    parser.add_argument("--bundles", type=Path, help="keep the bundles here, and use them again")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="nightshift-") as scratch:
        folder = options.bundles or Path(scratch) / "bundles"
        night = _Night(options.measurements, options.seconds)
        wanted = [
            path
            if (path := bundle_path(folder, head.run_id)).exists()
            else night.write(folder, head)
            for head in night.manifests()
        ]
        assert sorted(wanted) == list(list_bundles(folder)), f"{folder} holds other bundles too"
        size = sum(path.stat().st_size for path in wanted) / 1e6
        store = open_store(options.url or f"sqlite:///{scratch}/store.db")
        assert not runs(store), "the store is not empty; give the URL of one that is"
        print(f"{_machine()}; {store.dialect.name} {_version(store)}")
        print(f"{len(wanted)} bundles, {size:.0f} MB: {len(night.steps)} steps x {night.seconds} s")
        try:
            _time(store, wanted, night, options.tables)
        finally:
            empty_store(store)
            store.dispose()


def _time(store: Engine, bundles: list[Path], night: _Night, tables: int) -> None:
    taking = _seconds(lambda: ingest(store, bundles))
    count = count_measurements(store)
    assert count == len(bundles) * len(night.steps) * METRICS_OF_A_STEP, count
    print(f"ingest   {taking:7.2f} s  {count} measurements, {count / taking:.0f} a second")

    def rebuild() -> None:
        empty_store(store)
        ingest(store, bundles)

    print(f"rebuild  {_seconds(rebuild):7.2f} s")
    read = partial(night.table, store)
    for metric in ("qps", "cpu_us/o"):
        times = [_seconds(partial(read, metric)) for _ in range(tables)]
        shape = [len(row.values) for group in read(metric).groups for row in group.rows]
        assert shape == [REVISIONS - 1] * len(night.steps), shape
        print(
            f"table    {statistics.median(times):7.3f} s  median of {tables}, {min(times):.3f} to "
            f"{max(times):.3f}: {metric}, {REVISIONS} revisions x {len(shape)} steps"
        )


class _Night:
    """What is measured, and the bundles of it."""

    def __init__(self, measurements: int, seconds: int) -> None:
        family = find_family("sysbench")
        self._target = find_target("postgres")
        self._machine: Machine = fingerprint("benchmark", Path())
        self.seconds = seconds
        self.revisions = tuple(
            Revision(target="postgres", version=f"17.{minor}", order=(17, minor), major="17")
            for minor in range(REVISIONS)
        )
        self.steps: tuple[Step, ...] = family.workload("x", ["all"], self._scale(1), {}).steps
        of_one = REVISIONS * REPETITIONS * len(self.steps) * METRICS_OF_A_STEP
        self.workloads: list[Workload] = [
            family.workload("cached", ["all"], self._scale(clients), {})
            for clients in range(1, math.ceil(measurements / of_one) + 1)
        ]
        self._texts = {
            kind: (CAPTURED / f"{kind}.txt").read_text()
            for kind in ("scan", "write-only", "point-query")
        }

    def _scale(self, clients: int) -> Scale:
        # scan.txt was captured on tables of this size.
        return Scale(tables=1, rows=20_000, clients=clients, measure=self.seconds, warmup=1)

    def table(self, store: Engine, metric: str) -> Table:
        """Return the relative table of one of the workloads."""
        line = Line(
            name="postgres-17",
            target="postgres",
            revisions=self.revisions,
            cells=tuple(self._cell(revision, self.workloads[0]) for revision in self.revisions),
        )
        subject = measured_subject(store, line, self.workloads[0])
        assert subject is not None
        return relative_to(subject.table(metric), self.revisions[0].label)

    def _cell(self, revision: Revision, workload: Workload) -> Cell:
        return Cell(
            revision=revision,
            build_options="official",
            config=self._target.config("x10a", revision, self._machine),
            machine_class=self._machine.machine_class,
            workload=workload,
        )

    def manifests(self) -> Iterator[Manifest]:
        """Yield the heads of all runs, interleaved as a night does it."""
        started = datetime(2026, 1, 1, tzinfo=UTC)
        for repetition, workload, revision in itertools.product(
            range(1, REPETITIONS + 1), self.workloads, self.revisions
        ):
            cell = self._cell(revision, workload)
            started += timedelta(minutes=10)
            yield Manifest(
                run_id=cell.run_id(repetition),
                origin=Origin.MEASURED,
                revision=revision,
                build=_build(revision),
                config=cell.config,
                machine=self._machine,
                workload=workload,
                cell_key=cell.key,
                repetition=repetition,
                started_at=started,
                ended_at=started + timedelta(minutes=9),
                tools={"sysbench": "sysbench 1.0.20"},
                steps=tuple(
                    StepRecord(
                        step=step,
                        status=StepStatus.OK,
                        started_at=started + timedelta(seconds=place * (self.seconds + 1)),
                        wall_seconds=self.seconds + 1.1,
                        command=("sysbench", f"--step={step.name}", "run"),
                        folder=f"steps/{place:02d}-{step.name.replace('=', '-')}",
                        database_bytes=2**24 + place,
                    )
                    for place, step in enumerate(workload.steps, start=1)
                ),
            )

    def write(self, folder: Path, head: Manifest) -> Path:
        """Write the bundle of a run: captured output, a little different each time."""
        chance = random.Random(head.run_id)
        files = {"settings.json": _settings(head.revision), "server.log": b"LOG:  ready\n" * 50}
        for record in head.steps:
            files[f"{record.folder}/stdout.txt"] = self._output(record.step, chance).encode()
            files[f"{record.folder}/samples.jsonl"] = dump_samples(_samples(self.seconds, chance))
        return write_bundle(folder, head, files)

    def _output(self, step: Step, chance: random.Random) -> str:
        """Return the captured output of this kind of step, with an interval for each second."""
        kind = {"rows": "scan", "writes": "write-only"}.get(
            step.unit if step.unit == "rows" else step.group, "point-query"
        )
        text = self._texts[kind]
        first, *others = _INTERVAL.finditer(text)
        events = int(first[1])
        intervals = "\n".join(
            f"nightshift interval t={second}.000109 dt=1.000934 "
            f"events={round(events * chance.gauss(1, 0.02))} lat_pct_ms=0.062897 errors=0 "
            "reconnects=0 threads=1"
            for second in range(1, self.seconds + 1)
        )
        end = text.index("\n", (others or [first])[-1].end())
        text = text[: first.start()] + intervals + text[end:]
        seconds = 3 * chance.gauss(1, 0.02)
        return re.sub(r"total seconds=\S+", f"total seconds={seconds:.6f}", text)


def _samples(seconds: int, chance: random.Random) -> list[ProbeSample]:
    rates = {
        "host.user": 0.6,
        "host.system": 0.3,
        "host.steal": 0.01,
        "host.total": 2.0,
        "host.cs": 97_499.0,
        "disk.reads": 12.0,
        "disk.read_bytes": 12.0 * 8192,
        "disk.writes": 61.0,
        "disk.write_bytes": 32_942_592.0,
        "server.cpu_us": 709_484.795,
        "server.cs": 47_328.0,
    }
    now = {name: 1000 * rate for name, rate in rates.items()}
    gauges = {"host.available": 2.4e10, "host.cached": 3.3e9, "server.rss": 411_267_072.0}
    samples = []
    for second in range(seconds + 1):
        samples.append(ProbeSample(second + 2e-5, {**now, **gauges}))
        now = {name: now[name] + rate * chance.gauss(1, 0.02) for name, rate in rates.items()}
    return samples


def _settings(revision: Revision) -> bytes:
    """Return as many variables as Postgres has; a few differ between revisions."""
    values = {f"a_setting_of_postgres_{number}": f"value {number}" for number in range(380)}
    return json.dumps(values | {"server_version": revision.version}, sort_keys=True).encode()


def _build(revision: Revision) -> Build:
    return Build(
        target=revision.target,
        version=revision.version,
        options="official",
        hash=digest(revision.version),
        provenance=Provenance(
            source="benchmark", locator=revision.version, sha256="", options="official"
        ),
    )


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _machine() -> str:
    here = fingerprint("benchmark", Path())
    load = os.getloadavg()[0]
    return (
        f"{here.cpu_model}, {here.cores} cores, {here.memory_bytes / 2**30:.0f} GiB, "
        f"Python {platform.python_version()}, load {load:.1f}"
    )


def _version(store: Engine) -> str:
    with store.connect():
        return ".".join(map(str, store.dialect.server_version_info or ()))


if __name__ == "__main__":
    main()
