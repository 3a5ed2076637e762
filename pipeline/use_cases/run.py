"""The stages build, run and ingest on this machine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.measure.build import identical
from pipeline.measure.controls import measured_here, remember_measured, with_controls
from pipeline.measure.matrix import chosen
from pipeline.measure.plan import TRIES, Plan, check_workloads
from pipeline.measure.progress import Watcher
from pipeline.measure.run import Builds, build_all, build_key, run_all, save_builds
from pipeline.model import Cell
from pipeline.storage.bundle import bundle_path
from pipeline.storage.journal import now
from pipeline.storage.runs import last_machine, measured
from pipeline.storage.steps import stayed_disturbed
from pipeline.text.errors import UserError
from pipeline.use_cases.event_log import logged
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.workloads import find_family

_LOG = logging.getLogger(__name__)


def check_tools(context: MeasuringContext) -> None:
    """Raise UserError if a tool that the configured workloads need is not installed."""
    check_workloads(context.file)
    context.workspace.check_tools()
    for family in {workload.family for workload in context.config.workload}:
        find_family(family).tools()


class RunResult(NamedTuple):
    """How many runs were measured, and why others were not.

    ``harness_errors`` has the reasons by the names of the runs.
    """

    runs: int
    harness_errors: dict[str, str]


@logged("run")
def run_stage(
    context: MeasuringContext,
    plan: Plan,
    watcher: Watcher,
    on_bundle: Callable[[Cell, int, Path], None],
    keys: Sequence[str] = (),
) -> RunResult:
    """Measure the remaining runs of a plan on this machine.

    With ``keys``, only cells whose keys begin with one of them are measured; raises UserError if
    the plan has no cell for a key. The controls of this machine are measured before and after all
    other runs, once a night (a day in UTC). Bundles of an earlier, interrupted night are ingested
    first, so that their runs are not repeated.
    """
    check_tools(context)
    plan = plan.of_class(context.machine_class)
    for key in keys:
        if not any(cell.key.startswith(key) for cell in plan.due):
            raise UserError(
                f"the plan of the machine class {context.machine_class} has no cell {key}; both "
                "machines need the same revisions: copy discovered.json from the machine that "
                "planned"
            )
    with context.workspace.held():
        context.ingest()
        done = measured(context.store)
        # A job is told which cells to measure; only a whole night knows what was disturbed before.
        disturbed = () if keys else stayed_disturbed(context.store, [cell.key for cell in plan.due])
        remaining = plan.remaining(done, disturbed)
        if keys:
            remaining = chosen(remaining, keys)
        # A job whose cells are all measured is a repeated job.
        if remaining or not keys:
            elsewhere = measured_here(context.cache) if keys else set()
            remaining = with_controls(context.controls(now().date()), remaining, done | elsewhere)
        held_back = context.quarantine.held_back()
        remaining = [run for run in remaining if run[0].run_id(run[1]) not in held_back]
        if not remaining:
            return RunResult(0, {})
        # If not one was ever measured, there is nothing to go on with.
        first = not {key for key, _ in done} & set(plan.keys())
        return build_and_measure(context, remaining, watcher, on_bundle, needs_build=first)


def run_and_ingest(
    context: MeasuringContext,
    plan: Plan,
    watcher: Watcher,
    on_bundle: Callable[[Cell, int, Path], None],
    keys: Sequence[str] = (),
) -> RunResult:
    """Measure as :func:`run_stage` does, then add the bundles to the store."""
    result = run_stage(context, plan, watcher, on_bundle, keys)
    context.ingest()
    return result


def build_and_measure(
    context: MeasuringContext,
    runs: Sequence[tuple[Cell, int]],
    watcher: Watcher,
    on_bundle: Callable[[Cell, int, Path], None],
    *,
    needs_build: bool = True,
) -> RunResult:
    """Make the needed builds and execute the runs. The caller must hold the machine's lease.

    Raises UserError for a machine that is not fit to measure, and with ``needs_build`` if no build
    can be made.
    """
    builds = build_all((cell for cell, _ in runs), context.builder, watcher)
    save_builds(builds, context.results)
    if needs_build and not builds.made:
        raise UserError(next(iter(builds.failures.values())))
    for why in builds.failures.values():
        _LOG.warning(f"{why}; the night continues without it")
    for group in identical(list(builds.made.values())):
        names = ", ".join(build.version for build in group)
        watcher.note(
            f"{group[0].target} {names} are the same binary: differences between their results "
            "are noise"
        )
    built = [run for run in runs if build_key(run[0]) in builds.made]
    return measure(context, built, builds, watcher, on_bundle)


def measure(
    context: MeasuringContext,
    runs: Sequence[tuple[Cell, int]],
    builds: Builds,
    watcher: Watcher,
    on_bundle: Callable[[Cell, int, Path], None],
) -> RunResult:
    """Execute runs whose builds exist. The caller must hold the machine's lease.

    Raises UserError if the machine is not fit to measure.
    """
    made: list[Path] = []

    def done(cell: Cell, repetition: int, path: Path) -> None:
        made.append(path)
        remember_measured(cell, repetition, context.cache)
        on_bundle(cell, repetition, path)

    repetitions = context.config.night.repetitions

    def next_number(cell: Cell) -> int | None:
        number = repetitions + 1
        while bundle_path(context.bundles, cell.run_id(number)).exists():
            number += 1
        return number if number <= TRIES * repetitions else None

    last = last_machine(context.store, context.machine.hostname)
    failed = run_all(
        runs,
        builds.made,
        context.machine,
        context.workspace,
        context.bundles,
        watcher,
        context.night_guard(),
        port=context.config.machine.port,
        preflight=lambda mode: context.preflight(watcher.note, mode, last),
        on_bundle=done,
        next_number=next_number,
    )
    return RunResult(len(made), failed)
