"""The stages build and run over a whole plan."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pipeline.execute.build import find_build, obtain_build
from pipeline.execute.measure import Bench, measure_cell
from pipeline.execute.watch import Watcher
from pipeline.execute.workspace import Workspace
from pipeline.machine.pinning import available, choose
from pipeline.machine.ports import free_port
from pipeline.model import Build, Cell, Machine, Pinning
from pipeline.workloads import find_family

Builds = dict[tuple[str, str, str], Build]
"""The builds of a night, by target, version and build options."""


def build_all(cells: Iterable[Cell], cache: Path, watcher: Watcher) -> Builds:
    """Obtain every build that the cells need. What is installed already takes no time."""
    wanted = {_build_key(cell): cell for cell in cells}
    missing = [
        cell
        for cell in wanted.values()
        if find_build(cache, cell.revision, cell.build_options) is None
    ]
    if missing:
        watcher.begin("build", len(missing))
        try:
            for cell in missing:
                watcher.note(f"obtaining {cell.revision.target} {cell.revision.version}")
                obtain_build(cache, cell.revision, cell.build_options)
                watcher.advance(1)
        finally:
            watcher.end()
    return {
        key: obtain_build(cache, cell.revision, cell.build_options) for key, cell in wanted.items()
    }


def run_all(
    runs: Sequence[tuple[Cell, int]],
    builds: Builds,
    machine: Machine,
    workspace: Workspace,
    bundles: Path,
    watcher: Watcher,
    *,
    pin: bool,
    port: int,
    on_bundle: Callable[[Cell, int, Path], None],
) -> None:
    """Execute the runs in order, one after the other; each is a bundle when it returns.

    Calls ``on_bundle`` with every new bundle. While it measures, this process stays off the
    processors of the server.
    """
    processors = available()
    tools = {
        name: version
        for family in {cell.workload.family for cell, _ in runs}
        for name, version in find_family(family).tools().items()
    }
    watcher.begin("run", sum(step_seconds(cell) for cell, _ in runs))
    try:
        for cell, repetition in runs:
            pinning = choose(cell.workload.scale.clients, processors) if pin else Pinning()
            if pinning.harness:
                os.sched_setaffinity(0, pinning.harness)
            path = measure_cell(
                cell,
                repetition,
                builds[_build_key(cell)],
                Bench(machine=machine, pinning=pinning, port=port or free_port(), tools=tools),
                workspace,
                bundles,
                watcher,
            )
            on_bundle(cell, repetition, path)
    finally:
        os.sched_setaffinity(0, processors)
        watcher.end()


def step_seconds(cell: Cell) -> float:
    """Return the steps' own seconds of a cell, warm-up included."""
    scale = cell.workload.scale
    return len(cell.workload.steps) * (scale.measure + scale.warmup)


def _build_key(cell: Cell) -> tuple[str, str, str]:
    return cell.revision.target, cell.revision.version, cell.build_options
