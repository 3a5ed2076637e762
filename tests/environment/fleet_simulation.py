"""A fleet whose history is known: what its controls and its lines would have measured.

Three machines with offsets; by seed one of them gets a kernel, a disk dies slowly, a server is
replaced, and one revision is slower in some steps. Everything is drawn from the seed alone.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from pipeline.environment.calibrate import RunPlace
from pipeline.environment.panel import ClassMachine
from pipeline.model import Machine, SeriesKey
from pipeline.storage.controls import ControlRow
from pipeline.storage.series import Point, Series

CLASS = "ax162-s"
NIGHTS = 120
BEGAN = datetime(2026, 1, 1, 20, tzinfo=UTC)
STEPS = {
    "update-index_range=100": "writes",
    "insert_range=100": "writes",
    "read-write_range=10": "writes",
    "point-query_range=100": "point queries",
    "hot-points_range=100": "point queries",
    "scan_range=100": "scans",
}
IO_STEPS = ("update-index_range=100", "insert_range=100", "read-write_range=10")
METRICS = {"qps": 5000.0, "cpu_us/o": 180.0}
OLD, NEW = "6.1.0-30-amd64", "6.1.0-31-amd64"

Tails = Literal["normal", "heavy"]
Work = Literal["all", "shared"]


@dataclass
class Bench:
    """One machine: what it does to each step, by night. Effects are on the time of a query."""

    name: str
    offsets: dict[str, float]
    first: int = 0
    last: int = NIGHTS - 1
    updated: int | None = None
    update: dict[str, float] = field(default_factory=dict)
    dying: tuple[int, int] | None = None
    rate: float = 0.0

    def slower(self, step: str, metric: str, night: int) -> float:
        """Return the logarithm of the time of a query, relative to the class."""
        total = self.offsets[step]
        if self.updated is not None and night >= self.updated:
            total += self.update[step]
        # A slow disk takes no processor time.
        if self.dying is not None and step in IO_STEPS and metric == "qps":
            began, ended = self.dying
            total -= math.log1p(-self.rate) * min(max(night - began, 0), ended - began)
        return total

    def machine(self, night: int) -> Machine:
        """Return the fingerprint of a night."""
        return Machine(
            machine_class=CLASS,
            hostname=self.name,
            cpu_model="AMD EPYC 9454P",
            cores=48,
            memory_bytes=128 * 2**30,
            kernel=NEW if self.updated is not None and night >= self.updated else OLD,
            operating_system="Debian GNU/Linux 12 (bookworm)",
            virtualised="none",
            storage="ext4 on nvme0n1 (ssd)",
        )


@dataclass
class Fleet:
    """What is drawn: the machines, and the revision (a position) that is slower in some steps."""

    machines: list[Bench]
    position: int | None
    steps: tuple[str, ...]
    size: float


def draw(
    seed: int, *, regression: bool = True, events: bool = True, replaced: bool = False
) -> Fleet:
    """Return a fleet; with ``events`` one kernel update and one dying disk, of any machines."""
    drawn = random.Random(f"fleet {seed}")
    names = ["bench-1", "bench-2", "bench-3"]
    machines = [_bench(drawn, name) for name in names]
    if events:
        updated = drawn.choice(machines)
        updated.updated = drawn.randint(20, 100)
        size = drawn.choice((-1, 1)) * drawn.uniform(0.02, 0.04)
        updated.update = {step: size + drawn.gauss(0, 0.005) for step in STEPS}
        dying = drawn.choice(machines)
        began = drawn.randint(20, 80)
        dying.dying = began, began + drawn.randint(28, 56)
        dying.rate = drawn.uniform(0.002, 0.005)
    if replaced:
        old = drawn.choice(machines)
        old.last = drawn.randint(40, 80)
        new = _bench(drawn, "bench-4")
        new.first = old.last + 1
        machines.append(new)
    position = drawn.randint(15, 105) if regression else None
    return Fleet(machines, position, tuple(drawn.sample(sorted(STEPS), 3)), 0.03)


def _bench(drawn: random.Random, name: str) -> Bench:
    whole = drawn.gauss(0, 0.02)
    return Bench(name, {step: whole + drawn.gauss(0, 0.01) for step in STEPS})


@dataclass
class Measurements:
    """What was measured: control rows, series along the one line, and where their runs were."""

    controls: list[ControlRow]
    series: list[Series]
    runs: dict[str, RunPlace]


def measure(
    fleet: Fleet,
    seed: int,
    *,
    work: Work = "all",
    tails: Tails = "normal",
    nights: int = NIGHTS,
    controlled: tuple[str, ...] = tuple(STEPS),
) -> Measurements:
    """Measure a revision each night: on ``all`` machines once, or on one in turn three times.

    ``controlled`` are the steps of the control.
    """
    noise = _Noise(seed, tails)
    points: dict[tuple[str, str], list[Point]] = {}
    controls: list[ControlRow] = []
    runs: dict[str, RunPlace] = {}
    for night in range(nights):
        there = [each for each in fleet.machines if each.first <= night <= each.last]
        began = BEGAN + timedelta(days=night)
        for bench in there:
            noise.next_night()
            controls += _controls(bench, night, began, noise, controlled)
            benches = len(there) if work == "shared" else 1
            if work == "shared" and there[night % benches] is not bench:
                continue
            repetitions = (1, 2, 3) if work == "shared" else (there.index(bench) + 1,)
            for repetition in repetitions:
                run_id = f"r{night}-{repetition}"
                at = began + timedelta(hours=repetition)
                runs[run_id] = RunPlace(ClassMachine(CLASS, bench.name), at)
                for step, metric, value in _values(bench, night, noise, tuple(STEPS)):
                    slower = fleet.position is not None and night >= fleet.position
                    size = fleet.size if slower and step in fleet.steps else 0.0
                    points.setdefault((step, metric), []).append(
                        Point(
                            position=night,
                            revision=f"c{night:03}",
                            repetition=repetition,
                            value=value * (1 - size if metric == "qps" else 1 + size),
                            run_id=run_id,
                        )
                    )
    series = [
        Series.of(key=_key(step, metric), points=tuple(found))
        for (step, metric), found in points.items()
    ]
    return Measurements(controls, series, runs)


class _Noise:
    """Of a run 1 %, of a night of a machine .4 % beside it; heavy tails are Student's with 3."""

    def __init__(self, seed: int, tails: Tails) -> None:
        self._drawn = random.Random(f"noise {seed}")
        self._tails = tails
        self._night: dict[tuple[str, str], float] = {}

    def next_night(self) -> None:
        self._night = {(step, metric): self._draw(0.004) for step in STEPS for metric in METRICS}

    def of(self, step: str, metric: str) -> float:
        return self._night[step, metric] + self._draw(0.01)

    def _draw(self, deviation: float) -> float:
        value = self._drawn.gauss(0, 1)
        if self._tails == "heavy":
            # Student's t has variance 3 at three degrees of freedom.
            value /= math.sqrt(self._drawn.gammavariate(1.5, 2.0) / 3) * math.sqrt(3)
        return deviation * value


def _values(
    bench: Bench, night: int, noise: _Noise, steps: tuple[str, ...]
) -> Iterator[tuple[str, str, float]]:
    for step in steps:
        for metric, level in METRICS.items():
            slower = bench.slower(step, metric, night) * (-1 if metric == "qps" else 1)
            yield step, metric, level * math.exp(slower + noise.of(step, metric))


def _controls(
    bench: Bench, night: int, began: datetime, noise: _Noise, steps: tuple[str, ...]
) -> Iterator[ControlRow]:
    machine = bench.machine(night).model_dump(mode="json")
    for repetition, at in ((1, began), (2, began + timedelta(hours=5))):
        for step, metric, value in _values(bench, night, noise, steps):
            key = _key(step, metric)
            yield ControlRow(
                control="pinned",
                night=began.date(),
                repetition=repetition,
                run_id=f"c{night}-{bench.name}-{repetition}",
                started_at=at,
                machine=machine,
                target=key.target,
                build_hash="pinned",
                workload=key.workload,
                workload_hash=key.workload_hash,
                step=step,
                group=key.group,
                unit=key.unit,
                metric=metric,
                value=value,
                status="ok",
            )


def _key(step: str, metric: str) -> SeriesKey:
    return SeriesKey(
        line="main",
        target="postgres",
        config="x10a",
        build_options="rel_o2nofp",
        machine_class=CLASS,
        workload="cached",
        workload_hash="w",
        clients=1,
        step=step,
        group=STEPS[step],
        unit="queries",
        metric=metric,
    )
