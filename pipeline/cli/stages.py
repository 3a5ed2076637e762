"""Stages that more than one verb runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pipeline.analyse.detected import Detected
from pipeline.analyse.detection import search, searched
from pipeline.analyse.environment.kept import save_environment
from pipeline.analyse.rules import Rules
from pipeline.analyse.settle import settle
from pipeline.bundle import DamagedBundleError, NewerBundleError, set_aside
from pipeline.cli.console import warn
from pipeline.cli.measuring import MeasuringContext
from pipeline.errors import UserError
from pipeline.execute.build import identical
from pipeline.execute.controls import around, measured_here, remember_measured
from pipeline.execute.matrix import chosen
from pipeline.execute.plan import Plan
from pipeline.execute.run import Builds, build_all, build_key, run_all, save_builds
from pipeline.execute.watch import Watcher
from pipeline.journal import Journal, mutes, now
from pipeline.model import Cell
from pipeline.store.ingest import IngestReport
from pipeline.store.queries import last_machine, measured
from pipeline.workloads import find_family


def check_tools(context: MeasuringContext) -> None:
    """Refuse to begin without the tools that the configured workloads run."""
    context.offers()
    context.workspace.check_tools()
    for family in {workload.family for workload in context.config.workload}:
        find_family(family).tools()


def run_stage(
    context: MeasuringContext,
    plan: Plan,
    watcher: Watcher,
    on_bundle: Callable[[Cell, int, Path], None],
    keys: Sequence[str] = (),
) -> int:
    """Measure what is left of a plan for this machine's class; return how many runs that were.

    With ``keys`` only of the cells whose keys begin so; UserError for one that the plan lacks.
    The controls of this machine come first and last, once a night, which is a day in UTC.
    Bundles that an earlier, killed night left are taken into the store first, so nothing is
    measured twice.
    """
    check_tools(context)
    plan = plan.of_class(context.machine_class)
    for key in keys:
        if not any(cell.key.startswith(key) for cell in plan.due):
            raise UserError(
                f"the plan of {context.machine_class} has no cell {key}; revisions have to be "
                "those of the plan that it came from: take that machine's discovered.json"
            )
    with context.workspace.held():
        take_bundles(context)
        done = measured(context.store)
        remaining = plan.remaining(done)
        if keys:
            remaining = chosen(remaining, keys)
        # A job whose cells were measured before is a job that is repeated.
        if remaining or not keys:
            elsewhere = measured_here(context.cache) if keys else set()
            remaining = around(context.controls(now().date()), remaining, done | elsewhere)
        if not remaining:
            return 0
        builds = build_all((cell for cell, _ in remaining), context.builder, watcher)
        save_builds(builds, context.results)
        if not builds.made and not {key for key, _ in done} & set(plan.keys()):
            # Not one was ever measured: there is nothing to go on with.
            raise UserError(next(iter(builds.failures.values())))
        for why in builds.failures.values():
            warn(f"{why}; the night goes on without it")
        for group in identical(list(builds.made.values())):
            names = ", ".join(build.version for build in group)
            watcher.note(f"{group[0].target} {names} are the same binary: controls of each other")
        remaining = [run for run in remaining if build_key(run[0]) in builds.made]
        measure(context, remaining, builds, watcher, on_bundle)
    return len(remaining)


def measure(
    context: MeasuringContext,
    runs: Sequence[tuple[Cell, int]],
    builds: Builds,
    watcher: Watcher,
    on_bundle: Callable[[Cell, int, Path], None],
) -> None:
    """Execute runs whose builds are made. The workspace has to be held.

    Raises UserError for a machine that is not fit to measure.
    """

    def done(cell: Cell, repetition: int, path: Path) -> None:
        remember_measured(cell, repetition, context.cache)
        on_bundle(cell, repetition, path)

    last = last_machine(context.store, context.machine.hostname)
    run_all(
        runs,
        builds.made,
        context.machine,
        context.workspace,
        context.bundles,
        watcher,
        context.guard,
        pin=context.config.machine.pin,
        port=context.config.machine.port,
        preflight=context.preflight(watcher.note, last) if runs else {},
        on_bundle=done,
    )


def detect_stage(context: MeasuringContext, plan: Plan) -> Detected:
    """Search the series of a plan, and take what was found into the journal and the store."""
    settings = context.config.detect
    series, environment = searched(context.store, plan, settings)
    save_environment(environment, context.results)
    return settle(
        search(series, plan, rules_of(context), environment=environment),
        plan,
        series,
        settings.min_effect,
        context.results,
        context.store,
        now(),
    )


def rules_of(context: MeasuringContext) -> Rules:
    """Return what counts as a change: the configuration, and the mutes of the journal.

    Says so where the configuration has two budgets, of which one holds.
    """
    budgets = {"wrong_issues_per_month", "alarms_per_1000"}
    if budgets <= context.config.detect.model_fields_set:
        told = context.file.problem(
            ("detect", "alarms_per_1000"),
            "this one holds, and wrong_issues_per_month does not; remove either",
        )
        warn(str(told))
    held = mutes(Journal(context.results).read(), now().date())
    patterns = [event.pattern for event in held.values() if event.pattern is not None]
    return Rules(context.config.detect, context.config.rule, patterns)


def take_bundles(context: MeasuringContext) -> IngestReport:
    """Ingest every new bundle; move damaged ones aside, so that they are measured again.

    Raises NewerBundleError: measuring over what a newer nightshift wrote would lose it.
    """
    report = context.ingest()
    for refused in report.refused:
        if isinstance(refused, NewerBundleError):
            raise refused
        if isinstance(refused, DamagedBundleError):
            kept = set_aside(refused.path)
            warn(f"{refused}; kept as {kept.name}, its run is measured again")
        else:
            warn(str(refused))
    return report
