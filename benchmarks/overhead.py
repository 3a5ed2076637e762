"""What watching costs: a step under nightshift against the same command run by hand.

On one server, the same sysbench command is run in turn by hand (pinned alike, output read,
nothing else) and as nightshift runs it (probes, parent-death signal, its own processors), each
pair in a random order. Prints the ratio of QPS, nightshift / by hand, as the median over the
pairs with a 95 % bootstrap interval, and the wall time that one execution of a whole cell
takes beyond the seconds of its steps.

    python benchmarks/overhead.py --pairs 30 --seconds 4
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from pipeline.config import LineSection, Paths
from pipeline.machine.account import find_account
from pipeline.machine.disturbance.base import Limits
from pipeline.machine.disturbance.guard import Guard
from pipeline.machine.fingerprint import fingerprint
from pipeline.machine.pinning import ConcurrentWork, available, choose
from pipeline.machine.ports import free_port
from pipeline.machine.topology import read_cores
from pipeline.measure.build import OFFICIAL, Builder
from pipeline.measure.discover import Offer, discover, select
from pipeline.measure.execution import Bench
from pipeline.measure.expected_time import Expectation
from pipeline.measure.progress import Silent
from pipeline.measure.run import measure_cell
from pipeline.measure.step import execute
from pipeline.measure.workspace import Workspace
from pipeline.model import Cell, Scale
from pipeline.probes import all_probes
from pipeline.probes.dbms import DbmsActivity
from pipeline.storage.bundle import read_bundle
from pipeline.targets import find_target
from pipeline.targets.base import Placement, ServerError
from pipeline.workloads import find_family
from pipeline.workloads.base import Load, Maintain, Measure

ROWS = 20_000
DEFAULT_STEPS = (
    "point-query",
    "hot-points",
    "points-covered-si",
    "range-notcovered-pk",
    "scan",
    "read-only_range=100",
    "update-index",
)
"""The steps of the default night."""


def main() -> None:
    """Measure both and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seconds", type=int, default=4, help="of each measurement")
    parser.add_argument("--cells", type=int, default=5, help="executions of a whole cell")
    parser.add_argument("--major", default="17")
    options = parser.parse_args()

    cache = Paths().cache_folder
    target = find_target("postgres")
    offer = Offer("postgres", target.supplies[0])
    known = discover([offer], cache, None)[offer]
    chosen = LineSection(
        name="x", target="postgres", since=options.major, until=options.major, newest=1
    )
    (revision,) = select(known, chosen)
    build = Builder(cache, find_account()).obtain(revision, OFFICIAL)
    machine = fingerprint(None, cache)
    family = find_family("sysbench")
    scale = Scale(tables=1, rows=ROWS, clients=1, measure=options.seconds, warmup=0.5)
    workspace = Workspace(cache, find_account())
    processors = available()
    pinning = choose(ConcurrentWork(1), read_cores(processors))

    def cell_of(steps: tuple[str, ...], of: Scale) -> Cell:
        return Cell(
            revision=revision,
            build_options=OFFICIAL,
            config=target.config("x10a", revision, machine),
            machine_class=machine.machine_class,
            workload=family.workload("overhead", steps, of, {}),
        )

    with workspace.held():
        cell = cell_of(("point-query",), scale)
        (step,) = cell.workload.steps
        with workspace.folder("overhead") as folder:
            placement = Placement(
                folder=folder,
                port=free_port(),
                processors=pinning.server,
                account=workspace.account,
            )
            server = target.start(build, cell.config, workspace.template(build), placement)
            try:
                ratios = compare(options, cell, family, step, server, pinning)
            finally:
                server.stop()
        os.sched_setaffinity(0, pinning.harness or processors)
        beyond = []
        night = cell_of(
            DEFAULT_STEPS, Scale(tables=1, rows=ROWS, clients=1, measure=1, warmup=0.25)
        )
        own = Expectation([night]).left
        with tempfile.TemporaryDirectory() as bundles:
            for repetition in range(1, options.cells + 1):
                bench = Bench(
                    machine=machine, pinning=pinning, port=free_port(), tools=family.tools()
                )
                path = measure_cell(
                    night,
                    repetition,
                    build,
                    bench,
                    workspace,
                    Path(bundles),
                    Silent(),
                    Expectation([night]),
                    Guard(Limits()),
                )
                head = read_bundle(path).manifest
                wall = (head.ended_at - head.started_at).total_seconds()
                beyond.append(wall - own)

    low, high = bootstrap(ratios)
    print(f"postgres {revision.version}, {machine.cpu_model}, {machine.cores} cores")
    print(
        f"QPS of point-query, nightshift / by hand: {statistics.median(ratios):.4f} "
        f"(95 % {low:.4f} to {high:.4f}; single pairs {min(ratios):.3f} to {max(ratios):.3f}; "
        f"{len(ratios)} pairs of {options.seconds} s)"
    )
    print(
        f"wall time of a cell beyond its {len(DEFAULT_STEPS)} steps' own "
        f"{own:g} s: median {statistics.median(beyond):.2f} s, "
        f"{min(beyond):.2f} to {max(beyond):.2f} s over {len(beyond)} repetitions"
    )


def compare(options, cell, family, step, server, pinning) -> list[float]:  # type: ignore[no-untyped-def]
    """Return the ratio of QPS, nightshift / by hand, of every pair."""
    workload = cell.workload

    def by_hand(command: tuple[str, ...]) -> str:
        os.sched_setaffinity(0, available())
        pinned = ["taskset", "-c", ",".join(map(str, pinning.client)), *command]
        if not pinning.client:
            pinned = list(command)
        return subprocess.run(pinned, capture_output=True, text=True, check=True).stdout

    def watched(command: tuple[str, ...]) -> str:
        if pinning.harness:
            os.sched_setaffinity(0, pinning.harness)
        done = execute(
            command,
            pinning.client,
            lambda client: [
                *all_probes(server.pid, client),
                DbmsActivity(server.activity.fields, server.activity.session, ServerError),
            ],
            lambda line: family.started(line, Measure(step=step), workload),
            measure=options.seconds,
            limit=options.seconds + 1,
        )
        return done.text

    by_hand(family.command(Load(), workload, server.connection, 1))
    for action in family.actions(workload):
        if isinstance(action, Maintain):
            server.maintain(family.tables(workload))
    command = family.command(Measure(step=step), workload, server.connection, 1)
    by_hand(command)  # The first run of all warms the machine and is in no pair.
    everywhere = os.sched_getaffinity(0)
    order = random.Random(0)
    ratios = []
    for number in range(options.pairs):
        rates = {}
        for way in order.sample((by_hand, watched), 2):
            output = family.parse(step, workload, way(command))
            rates[way] = output.operations / output.seconds
        os.sched_setaffinity(0, everywhere)
        ratios.append(rates[watched] / rates[by_hand])
        if sys.stderr.isatty():
            print(f"\r{number + 1}/{options.pairs} pairs", end="", file=sys.stderr)
    return ratios


def bootstrap(ratios: list[float], resamples: int = 4000) -> tuple[float, float]:
    """Return the 95 % percentile interval of the median, resampling the pairs."""
    draw = random.Random(1)
    medians = sorted(
        statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(resamples)
    )
    return medians[int(0.025 * resamples)], medians[int(0.975 * resamples)]


if __name__ == "__main__":
    main()
