"""The stages build and run over a whole plan."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from pipeline.durable import write_whole
from pipeline.errors import UserError
from pipeline.execute.build import Builder, NotBuiltError
from pipeline.execute.expect import Expectation
from pipeline.execute.measure import Bench, measure_cell
from pipeline.execute.watch import Watcher
from pipeline.execute.workspace import Workspace
from pipeline.machine.disturbance.guard import Guard
from pipeline.machine.pinning import available, choose
from pipeline.model import Build, Cell, Frozen, Machine, Pinning
from pipeline.probes import perf_counters
from pipeline.workloads import find_family

BuildKey = tuple[str, str, str, str]
"""Target, source, version and build options."""


class Builds(NamedTuple):
    """What became of the builds that a night needs, by :func:`build_key`.

    ``failures`` says of those that are not there why, in one line each.
    """

    made: dict[BuildKey, Build]
    failures: dict[BuildKey, str]


def build_all(cells: Iterable[Cell], builder: Builder, watcher: Watcher) -> Builds:
    """Obtain every build that the cells need. What is here already takes no time.

    One that cannot be had does not hold up the others.
    """
    wanted = {build_key(cell): cell for cell in cells}
    found = {key: builder.find(cell.revision, cell.build_options) for key, cell in wanted.items()}
    builds = Builds({key: build for key, build in found.items() if build is not None}, {})
    missing = [cell for key, cell in wanted.items() if found[key] is None]
    if missing:
        watcher.begin("build", len(missing))
        try:
            _obtain(missing, builder, builds, watcher)
        finally:
            watcher.end()
    return builds


def _obtain(missing: Sequence[Cell], builder: Builder, builds: Builds, watcher: Watcher) -> None:
    def obtain(cell: Cell) -> Build:
        watcher.note(f"obtaining {cell.revision.target} {cell.revision.version}")
        return builder.obtain(cell.revision, cell.build_options)

    with ThreadPoolExecutor(builder.at_once) as workers:
        running = {workers.submit(obtain, cell): cell for cell in missing}
        try:
            for ended in as_completed(running):
                cell = running[ended]
                try:
                    builds.made[build_key(cell)] = ended.result()
                except (NotBuiltError, UserError) as error:
                    why = f"{cell.revision.target} {cell.revision.version} has no build: {error}"
                    builds.failures[build_key(cell)] = why
                watcher.advance(1)
        finally:
            # Nothing new is begun once this has been interrupted.
            workers.shutdown(wait=False, cancel_futures=True)


class BuildState(Frozen):
    """What became of one build, as ``results/builds.json`` keeps it: its hash, or the failure."""

    target: str
    source: str
    version: str
    options: str
    hash: str = ""
    failure: str = ""


BUILDS_FILE = "builds.json"
"""What became of builds, in the results folder."""

_BUILDS = TypeAdapter(list[BuildState])


def save_builds(builds: Builds, results: Path) -> None:
    """Add what became of builds to what is known of them in ``results``."""
    known = {_key(state): state for state in load_builds(results)}
    named = ("target", "source", "version", "options")
    for key, build in builds.made.items():
        known[key] = BuildState(**dict(zip(named, key, strict=True)), hash=build.hash)
    for key, why in builds.failures.items():
        known[key] = BuildState(**dict(zip(named, key, strict=True)), failure=why)
    _write_builds(list(known.values()), results)


def add_builds(states: Iterable[BuildState], results: Path) -> None:
    """Add what became of builds on another machine; what it says of one holds."""
    known = {_key(state): state for state in [*load_builds(results), *states]}
    _write_builds(list(known.values()), results)


def _write_builds(states: list[BuildState], results: Path) -> None:
    results.mkdir(parents=True, exist_ok=True)
    write_whole(results / BUILDS_FILE, _BUILDS.dump_json(states, indent=1).decode())


def load_builds(results: Path) -> list[BuildState]:
    """Return what became of the builds of earlier nights; what cannot be read is forgotten."""
    try:
        return _BUILDS.validate_json((results / BUILDS_FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return []


def unbuilt(results: Path, cells: Iterable[Cell]) -> dict[str, str]:
    """Return why revisions have no build, in a line each, by the keys of their cells."""
    failures = {_key(state): state.failure for state in load_builds(results) if state.failure}
    return {cell.key: failures[build_key(cell)] for cell in cells if build_key(cell) in failures}


def _key(state: BuildState) -> BuildKey:
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
    pin: bool,
    port: int,
    preflight: dict[str, str],
    on_bundle: Callable[[Cell, int, Path], None],
) -> None:
    """Execute the runs in order, one after the other; each is a bundle when it returns.

    Calls ``on_bundle`` with every new bundle; ``preflight`` is kept in each. While it measures,
    this process stays off the processors of the server.
    """
    processors = available()
    tools = {
        name: version
        for family in {cell.workload.family for cell, _ in runs}
        for name, version in find_family(family).tools().items()
    }
    expectation = Expectation(cell for cell, _ in runs)
    watcher.begin("run", expectation.left)
    if refused := perf_counters.available().refused:
        watcher.note(refused)
    try:
        for cell, repetition in runs:
            pinning = choose(cell.workload.scale.clients, processors) if pin else Pinning()
            if pinning.harness:
                os.sched_setaffinity(0, pinning.harness)
            path = measure_cell(
                cell,
                repetition,
                builds[build_key(cell)],
                Bench(
                    machine=machine,
                    pinning=pinning,
                    port=port,
                    tools=tools,
                    preflight=preflight,
                ),
                workspace,
                bundles,
                watcher,
                expectation,
                guard,
            )
            on_bundle(cell, repetition, path)
    finally:
        os.sched_setaffinity(0, processors)
        watcher.end()


def build_key(cell: Cell) -> BuildKey:
    """Return what tells one build of a night from another."""
    supply = cell.revision.supply.name if cell.revision.supply else ""
    return cell.revision.target, supply, cell.revision.version, cell.build_options
