"""What nights cost on five years of results, and how the cost grows.

Makes a results folder as five years of nights leave it: a branch of ``--revisions`` commits, 40
steps x 3 repetitions x 4 metrics of each, noise with the shape of ``noise.json`` and 60 true
changes. Then runs the verbs as a user does, each in a process of its own, and prints seconds,
processor seconds and peak memory: detection from nothing and after one more revision, a night with
nothing to do, the report, the site, ``table``, ``plan`` and ``regressions``. Processor seconds are
of all threads, and vary less on a machine with other work. With several lengths it prints the
exponents of the growth between the first and the last. The kernels are compiled beforehand, as the
first detection of an installation does.

    python -m benchmarks.five_years --revisions 250 1000 5000
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.noise import Draws, fitted
from changepoint.series import Floats
from pipeline.machine.fingerprint import fingerprint
from pipeline.measure.plan import Plan
from pipeline.model import Cell, digest
from pipeline.use_cases.planning import PlanningContext

BEGAN = datetime(2021, 11, 1, tzinfo=UTC)
SPAN = timedelta(days=5 * 365)
CHANGES = 60
"""True changes: steps of 2 to 12 %, each in some of the steps of the workload, spread evenly."""

METRICS = {"qps": 4000.0, "cpu_us/o": 180.0, "cs/o": 3.2, "latency_p99": 0.77}
"""Level of each metric; the noise of the last two is that of ``cpu_us/o``."""

SCALE = 0.008
"""Deviation of one run: a quiet server of its own, as in the published reports."""

CONFIG = """
[night]
repetitions = 3

[detect]
metrics = {metrics}

# What is confirmed is measured, and is not what this times.
[confirm]
night = "0s"
budget = "0s"

[[line]]
name = "trunk"
target = "sqlite"
source = "git"
repository = "{repository}"
since = "{first}"

[[workload]]
name = "cached"
config = "wal"
rows = 20000
steps = ["all"]
measure = "1s"
warmup = "0s"

[[workload]]
name = "larger"
config = "wal"
rows = 100000
steps = {steps}
measure = "1s"
warmup = "0s"
"""
STEPS = ("point-query", "hot-points", "scan", "update-index", "insert", "write-only", "delete")
STEPS_MORE = "read-only_range=100"
WORKLOADS = {"cached": 32, "larger": 8}
"""Steps of each workload."""

REPETITIONS = 3

NIGHTSHIFT = Path(sys.executable).with_name("nightshift")


class Cost(NamedTuple):
    """What one call cost: seconds that passed, processor seconds, and the peak of memory in MB."""

    seconds: float
    processor: float
    memory: float


class Years:
    """A results folder of several years in a folder of its own."""

    def __init__(self, folder: Path, revisions: int) -> None:
        self.folder, self.revisions = folder, revisions
        self._random = np.random.default_rng(revisions)
        folder.mkdir(parents=True)
        self.branch(revisions)
        first = self._git("rev-list", "--max-parents=0", "main")
        text = CONFIG.format(
            metrics=json.dumps(list(METRICS)),
            repository=folder / "repository",
            first=first,
            steps=json.dumps([*STEPS, STEPS_MORE]),
        )
        (folder / "nightshift.toml").write_text(text)

    def branch(self, count: int) -> None:
        """Make the branch ``count`` commits long; those that are there stay."""
        repository = self.folder / "repository"
        if not repository.exists():
            subprocess.run(["git", "init", "-q", "-b", "main", str(repository)], check=True)
        at = 0
        stream = []
        if (repository / ".git/refs/heads/main").exists():
            at = int(self._git("rev-list", "--count", "main"))
        for number in range(at, count):
            when = int((BEGAN + number * SPAN / self.revisions).timestamp())
            text = f"Change {number}\n"
            parent = "from refs/heads/main^0\n" if number == at and at else ""
            stream.append(
                f"commit refs/heads/main\ncommitter A <a@b> {when} +0000\n"
                f"data {len(text)}\n{text}{parent}M 100644 inline VERSION\n"
                f"data {len(str(number))}\n{number}\n"
            )
        subprocess.run(
            ["git", "-C", str(repository), "fast-import", "--quiet", "--force"],
            input="".join(stream).encode(),
            check=True,
        )

    def _git(self, *command: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.folder / "repository"), *command],
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def run(self, *verb: str, code: int = 0) -> Cost:
        """Run a verb in the folder. Raises RuntimeError for another exit code than ``code``."""
        done = subprocess.run(
            [sys.executable, "-S", "-c", _TIMED, str(NIGHTSHIFT), *verb],
            cwd=self.folder,
            # As installed: without this variable, verbs find their compiled modules.
            # A lease of its own: the nights of this folder measure nothing.
            env={
                **{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
                "NIGHTSHIFT_RUN": str(self.folder / "run"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != code:
            raise RuntimeError(
                f"nightshift {' '.join(verb)} ended with {done.returncode}: {done.stderr[-2000:]}"
            )
        seconds, processor, kilobytes = done.stderr.splitlines()[-1].split()
        return Cost(float(seconds), float(processor), int(kilobytes) / 1024)

    def measure(self, since: int) -> None:
        """Put the runs of the revisions from the one at ``since`` into the store."""
        context = PlanningContext(self.folder / "nightshift.toml", results=self.folder / "results")
        plan = context.plan()
        store = context.store
        store.dispose()
        with sqlite3.connect(self.folder / "results" / "store.db") as connection:
            connection.execute("PRAGMA synchronous = OFF")
            _Filler(connection, plan, self._random, self.revisions).fill(since)


_TIMED = """
import resource, subprocess, sys, time
began = time.perf_counter()
code = subprocess.call(sys.argv[1:], close_fds=False)
taken = time.perf_counter() - began
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"\\n{taken} {used.ru_utime + used.ru_stime} {used.ru_maxrss}", file=sys.stderr)
sys.exit(code)
"""
"""Runs a command from a small process: a child's peak is never below that of who started it."""


class _Filler:
    """Writes the rows of runs, as an ingest of their bundles would."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        plan: Plan,
        random: np.random.Generator,
        revisions: int,
    ) -> None:
        self._connection, self._plan, self._random = connection, plan, random
        self._levels = _levels(revisions)
        self._fingerprint = fingerprint(plan.cells[0].machine_class, Path()).model_dump_json()
        # A machine that becomes slower with every run would hide the changes after some months.
        shape = replace(fitted()["sqlite", "qps"].scaled(SCALE), drift=0.0)
        self._draws = {
            name: Draws(shape, steps * len(METRICS), random) for name, steps in WORKLOADS.items()
        }

    def fill(self, since: int) -> None:
        """Write the runs of every revision from the one at ``since``, night by night."""
        (line,) = self._plan.lines
        place = {revision.label: number for number, revision in enumerate(line.revisions)}
        for metric in METRICS:
            self._connection.execute("INSERT OR IGNORE INTO metric (name) VALUES (?)", [metric])
        wanted = [cell for cell in line.cells if place[cell.revision.label] >= since]
        wanted.sort(key=lambda cell: place[cell.revision.label])
        for cell in wanted:
            for repetition in range(1, REPETITIONS + 1):
                self._run(cell, place[cell.revision.label], repetition)

    def _run(self, cell: Cell, place: int, repetition: int) -> None:
        began = BEGAN + timedelta(hours=9 * place + repetition)
        assert cell.revision.at is not None
        run = self._add(
            "run",
            run_id=cell.run_id(repetition),
            bundle_sha256="-",
            origin="measured",
            cell_key=cell.key,
            repetition=repetition,
            target="sqlite",
            revision=cell.revision.label,
            revision_order=json.dumps(list(cell.revision.order)),
            pinning="{}",
            tools="{}",
            started_at=began.strftime("%Y-%m-%d %H:%M:%S.%f"),
            ended_at=(began + timedelta(minutes=30)).strftime("%Y-%m-%d %H:%M:%S.%f"),
            revision_at=cell.revision.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f"),
            digest=digest([cell.key, repetition]),
            build_id=self._shared(
                "build",
                digest(cell.revision.label),
                target="sqlite",
                version=cell.revision.version,
                options=cell.build_options,
                program_hash=digest([cell.revision.label, "program"]),
                provenance="{}",
            ),
            config_id=self._shared(
                "config",
                digest(cell.config.text),
                family=cell.config.family,
                name=cell.config.name,
                text=cell.config.text,
            ),
            machine_id=self._shared(
                "machine",
                "m",
                machine_class=cell.machine_class,
                fingerprint=self._fingerprint,
            ),
            workload_id=self._shared(
                "workload",
                cell.workload.hash,
                family=cell.workload.family,
                name=cell.workload.name,
                version=cell.workload.version,
                clients=cell.workload.scale.clients,
                definition=cell.workload.model_dump_json(),
            ),
        )
        noise = self._draws[cell.workload.name].next().reshape(-1, len(METRICS))
        values = []
        for number, step in enumerate(cell.workload.steps):
            step_run = self._add(
                "step_run",
                run=run,
                step=self._step(step.name, step.group, step.unit),
                place=number,
                status="ok",
                note="",
                timeline="[]",
            )
            slower = self._levels[cell.workload.name, number][place]
            for (metric, level), off in zip(METRICS.items(), noise[number], strict=True):
                worse = math.exp(slower + off)
                value = level / worse if metric == "qps" else level * worse
                values.append((step_run, self._metric(metric), value))
        self._connection.executemany("INSERT INTO measurement VALUES (?, ?, ?)", values)

    @cache  # noqa: B019 # Lives as long as one call.
    def _metric(self, name: str) -> int:
        found = self._connection.execute("SELECT id FROM metric WHERE name = ?", [name]).fetchone()
        return int(found[0])

    @cache  # noqa: B019
    def _step(self, name: str, group: str, unit: str) -> int:
        known = self._connection.execute(
            'SELECT id FROM step WHERE name = ? AND "group" = ? AND unit = ?', [name, group, unit]
        ).fetchone()
        return int(known[0]) if known else self._add("step", name=name, group=group, unit=unit)

    def _shared(self, table: str, hashed: str, **values: object) -> int:
        known = self._connection.execute(f"SELECT id FROM {table} WHERE hash = ?", [hashed])  # noqa: S608 # Our own names.
        found = known.fetchone()
        return int(found[0]) if found else self._add(table, hash=hashed, **values)

    def _add(self, table: str, **values: object) -> int:
        names = ", ".join(f'"{name}"' for name in values)
        marks = ", ".join("?" * len(values))
        added = self._connection.execute(
            f"INSERT INTO {table} ({names}) VALUES ({marks})",  # noqa: S608 # Our own names.
            list(values.values()),
        )
        assert added.lastrowid is not None
        return added.lastrowid


def _levels(revisions: int) -> dict[tuple[str, int], Floats]:
    """Return by how much the logarithm of each step is worse at each revision: the true changes.

    Every change is one of a few steps of one workload: half are worse, half are better.
    """
    random = np.random.default_rng(CHANGES)
    levels = {
        (name, step): np.zeros(2 * revisions)
        for name, steps in WORKLOADS.items()
        for step in range(steps)
    }
    for number in range(CHANGES):
        at = round((number + 0.5) * revisions / CHANGES)
        size = random.uniform(0.02, 0.12) * (-1.0 if number % 2 else 1.0)
        name = "larger" if number % 5 == 0 else "cached"
        steps = WORKLOADS[name]
        for step in random.choice(steps, size=int(random.integers(1, steps // 2)), replace=False):
            levels[name, int(step)][at:] += size
    return levels


VERBS = ("plan", "table", "regressions", "report", "site")


def measure(years: Years, count: int) -> dict[str, Cost]:
    """Return what each part costs on a line of so many revisions."""
    costs = {}

    def timed(name: str, *verb: str) -> None:
        costs[name] = cost = years.run(*verb)
        print(
            f"  {name:<28} {cost.seconds:7.2f} s  {cost.processor:7.2f} s  {cost.memory:6.0f} MB",
            flush=True,
        )

    years.run("discover")
    years.measure(0)
    timed("detect, from nothing", "detect")
    timed("detect, nothing new", "detect")
    for verb in VERBS:
        timed(f"{verb}, first" if verb in ("report", "site") else verb, verb)
    years.branch(count + 1)
    years.run("discover")
    years.measure(count)
    timed("detect, one more revision", "detect")
    for verb in ("report", "site"):
        timed(f"{verb}, one more revision", verb)
    timed("nightly, nothing to do", "nightly")
    return costs


def main() -> None:
    """Print the costs for each length of the line, and how they grow."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--revisions", type=int, nargs="+", default=[250, 1000, 5000])
    parser.add_argument("--keep", type=Path, help="make the folders here, and leave them")
    given = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    found: dict[int, dict[str, Cost]] = {}
    subprocess.run([sys.executable, "-m", "changepoint.compile"], check=True)
    with tempfile.TemporaryDirectory(prefix="nightshift-years-") as scratch:
        for count in given.revisions:
            print(f"{count} revisions: seconds, processor seconds, peak of memory", flush=True)
            years = Years((given.keep or Path(scratch)) / str(count), count)
            found[count] = measure(years, count)
    few, many = min(found), max(found)
    if few < many:
        print(f"exponents of the growth from {few} to {many} revisions: seconds, processor seconds")
        for name, cost in found[many].items():
            before = found[few][name]
            ratios = (cost.seconds / before.seconds, cost.processor / before.processor)
            exponents = [math.log(ratio) / math.log(many / few) for ratio in ratios]
            print(f"  {name:<28} {exponents[0]:7.2f}  {exponents[1]:7.2f}")


if __name__ == "__main__":
    main()
