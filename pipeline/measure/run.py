"""The build and run stages: make every build and execute every run of a plan."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from pipeline.files.atomic_write import write_atomically
from pipeline.files.json_file import read_json
from pipeline.machine.disturbance.guard import Guard
from pipeline.machine.memory_limit import check_memory_limits
from pipeline.machine.pinning import available
from pipeline.measure.attempts import Attempts, Run
from pipeline.measure.build import Builder, NotBuiltError
from pipeline.measure.counted_execution import CountedExecution
from pipeline.measure.counted_runs import count_all
from pipeline.measure.disturbed_runs import DisturbedRuns, Number
from pipeline.measure.execution import Bench, Execution
from pipeline.measure.expected_time import Expectation
from pipeline.measure.harness import BROKEN, HarnessError
from pipeline.measure.placement import cores_here, placement
from pipeline.measure.progress import Watcher
from pipeline.measure.workspace import Workspace
from pipeline.model import Build, Cell, Frozen, Machine, Mode, Pinning
from pipeline.probes import perf_counters
from pipeline.storage.bundle import attempts as disturbed_attempts
from pipeline.text.errors import UserError
from pipeline.text.units import plural
from pipeline.workloads import find_family

_LOG = logging.getLogger(__name__)

BuildKey = tuple[str, str, str, str]
"""Target, source, version and build options of a build."""


class Builds(NamedTuple):
    """The builds that a night needs, and those that failed, by :func:`build_key`.

    ``failures`` has the reason of each failed build, in one line.
    """

    made: dict[BuildKey, Build]
    failures: dict[BuildKey, str]


def build_all(cells: Iterable[Cell], builder: Builder, watcher: Watcher) -> Builds:
    """Return every build that the cells need; make those that are not in the cache.

    A failed build does not stop the others.
    """
    wanted = {build_key(cell): cell for cell in cells}
    found = {key: builder.find(cell.revision, cell.build_options) for key, cell in wanted.items()}
    builds = Builds({key: build for key, build in found.items() if build is not None}, {})
    missing = [cell for key, cell in wanted.items() if found[key] is None]
    if missing:
        with watcher.stage("build", len(missing)):
            _obtain(missing, builder, builds, watcher)
    return builds


def _obtain(missing: Sequence[Cell], builder: Builder, builds: Builds, watcher: Watcher) -> None:
    def obtain(cell: Cell) -> Build:
        watcher.note(f"preparing the build of {cell.revision.target} {cell.revision.version}")
        return builder.obtain(cell.revision, cell.build_options)

    with ThreadPoolExecutor(builder.at_once) as workers:
        running = {workers.submit(obtain, cell): cell for cell in missing}
        try:
            for ended in as_completed(running):
                cell = running[ended]
                try:
                    builds.made[build_key(cell)] = ended.result()
                except (NotBuiltError, UserError) as error:
                    why = (
                        f"the build of {cell.revision.target} {cell.revision.version} "
                        f"failed: {error}"
                    )
                    builds.failures[build_key(cell)] = why
                watcher.advance(1)
        finally:
            # After an interrupt, start no further build.
            workers.shutdown(wait=False, cancel_futures=True)


class BuildState(Frozen):
    """The state of one build in ``results/builds.json``: its hash, or why it failed."""

    target: str
    source: str
    version: str
    options: str
    hash: str = ""
    failure: str = ""


BUILDS_FILE = "builds.json"
"""The file with the states of builds in the results folder."""

_BUILDS = TypeAdapter(list[BuildState])


def save_builds(builds: Builds, results: Path) -> None:
    """Save the states of builds in the results folder."""
    known = {state_key(state): state for state in load_builds(results)}
    named = ("target", "source", "version", "options")
    for key, build in builds.made.items():
        known[key] = BuildState(**dict(zip(named, key, strict=True)), hash=build.hash)
    for key, why in builds.failures.items():
        known[key] = BuildState(**dict(zip(named, key, strict=True)), failure=why)
    _write_builds(list(known.values()), results)


def add_builds(states: Iterable[BuildState], results: Path) -> None:
    """Add the states of builds from another machine; a newer state replaces an older one."""
    known = {state_key(state): state for state in [*load_builds(results), *states]}
    _write_builds(list(known.values()), results)


def _write_builds(states: list[BuildState], results: Path) -> None:
    results.mkdir(parents=True, exist_ok=True)
    write_atomically(results / BUILDS_FILE, _BUILDS.dump_json(states, indent=1).decode())


def load_builds(results: Path) -> list[BuildState]:
    """Return the saved states of builds; none if the file is missing or unreadable."""
    return read_json(results / BUILDS_FILE, _BUILDS.validate_json) or []


def unbuilt(results: Path, cells: Iterable[Cell]) -> dict[str, str]:
    """Return the reasons why builds are missing, one line each, by the keys of the cells."""
    failures = {state_key(state): state.failure for state in load_builds(results) if state.failure}
    return {cell.key: failures[build_key(cell)] for cell in cells if build_key(cell) in failures}


def state_key(state: BuildState) -> BuildKey:
    """Return the key of the build that a saved state belongs to."""
    return state.target, state.source, state.version, state.options


def run_all(
    runs: Sequence[tuple[Cell, int]],
    builds: Mapping[BuildKey, Build],
    machine: Machine,
    workspace: Workspace,
    bundles: Path,
    watcher: Watcher,
    guard: Guard,
    *,
    port: int,
    preflight: Callable[[Mode], dict[str, str]],
    on_bundle: Callable[[Cell, int, Path], None],
    next_number: Number = lambda _: None,
) -> dict[str, str]:
    """Execute the runs and write a bundle for each.

    Counted runs come first, several at the same time, then the timed ones in order, one at a time,
    and at the end further runs of the cells that something disturbed most, under the
    ``next_number``.

    Calls ``preflight`` before the runs of a mode, stores its warnings in their bundles, and calls
    ``on_bundle`` with every new one. During the runs, this process stays off the processors of the
    server. A run that ends with a harness error is repeated after all other runs. Returns the
    reasons why runs have no bundle, by the names of the runs.
    """
    if any(cell.workload.memory_bytes for cell, _ in runs):
        check_memory_limits()
    processors, cores = available(), cores_here()
    tools = {
        name: version
        for family in {cell.workload.family for cell, _ in runs}
        for name, version in find_family(family).tools().items()
    }
    expectation = Expectation(cell for cell, _ in runs)
    watcher.begin("run", expectation.left)
    if refused := perf_counters.available().refused:
        watcher.note(refused)

    def measure(cell: Cell, repetition: int, pinning: Pinning, warned: dict[str, str]) -> Path:
        return measure_cell(
            cell,
            repetition,
            builds[build_key(cell)],
            Bench(machine=machine, pinning=pinning, port=port, tools=tools, preflight=warned),
            workspace,
            bundles,
            watcher,
            expectation,
            guard,
        )

    counted = [run for run in runs if run[0].workload.mode is Mode.COUNT]
    timed = [run for run in runs if run[0].workload.mode is Mode.TIME]
    attempts = [Attempts(counted, watcher), Attempts(timed, watcher)]
    try:
        if counted:
            warned = preflight(Mode.COUNT)
            count_all(attempts[0], processors, partial(measure, warned=warned), on_bundle)
        warned = preflight(Mode.TIME) if timed else {}
        disturbed = DisturbedRuns(guard.budget, guard.repeat)

        def measure_timed(run: Run, *, again: bool = False) -> None:
            cell, repetition = run
            pinning = placement(cell, cores)
            if pinning.harness:
                os.sched_setaffinity(0, pinning.harness)
            try:
                path = measure(cell, repetition, pinning, warned)
            except HarnessError as error:
                if again:
                    watcher.note(f"{cell.run_id(repetition)} was not repeated: {error}")
                else:
                    attempts[1].failed(run, error)
                return
            attempts[1].ended(run)
            on_bundle(cell, repetition, path)
            disturbed.add(cell, path, again=again)

        while (run := attempts[1].take()) is not None:
            measure_timed(run)
        for cell, repetition in disturbed.worst_first(next_number):
            expectation.again(cell)
            measure_timed((cell, repetition), again=True)
        if summary := disturbed.summary():
            watcher.note(summary)
    finally:
        os.sched_setaffinity(0, processors)
        watcher.end()
    failed = attempts[0].failures | attempts[1].failures
    for name, why in failed.items():
        _LOG.warning(
            f"{name} failed for a reason outside of the DBMS and does not count as measured: {why}"
        )
    if left := sum(each.left for each in attempts):
        _LOG.warning(
            f"{BROKEN} runs in a row failed for reasons outside of the DBMS: "
            f"{plural(left, 'run')} left for another night; check this machine"
        )
    return failed


def build_key(cell: Cell) -> BuildKey:
    """Return the key of the build that a cell needs."""
    supply = cell.revision.supply.name if cell.revision.supply else ""
    return cell.revision.target, supply, cell.revision.version, cell.build_options


def measure_cell(
    cell: Cell,
    repetition: int,
    build: Build,
    bench: Bench,
    workspace: Workspace,
    bundles: Path,
    watcher: Watcher,
    expectation: Expectation,
    guard: Guard,
) -> Path:
    """Execute a cell on a freshly started server and return the path of its bundle.

    The mode of the workload decides whether its steps are timed or counted. A failed step is
    recorded as failed and the next one runs. Disturbed measurements are repeated as often as the
    guard allows. A step that only reads is repeated immediately. Any other disturbed step repeats
    the whole run, and the bundles of the discarded attempts are kept next to the final one. Raises
    HarnessError if nightshift or its machine made the run fail (a port in use, a failed load, a
    full disk, a killed load generator), and UserError if the bundle cannot be written.
    """
    attempt = disturbed_attempts(bundles, cell.run_id(repetition)) + 1
    how = CountedExecution if cell.workload.mode is Mode.COUNT else Execution
    while True:
        execution = how(cell, repetition, build, bench, workspace, watcher, expectation, guard)
        path = execution.bundle(bundles, attempt)
        _LOG.info(
            "run disturbed" if execution.again else "run measured",
            extra={
                "target": cell.revision.target,
                "revision": cell.revision.label,
                "workload": cell.workload.name,
                "config_name": cell.config.name,
                "repetition": repetition,
                "attempt": attempt,
                "bundle": path.name,
                "failed_steps": execution.failed_steps,
            },
        )
        if not execution.again:
            return path
        expectation.again(cell)
        attempt += 1
