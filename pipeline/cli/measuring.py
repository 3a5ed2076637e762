"""A configuration at work on this machine: planned, built, measured and taken into the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from functools import cached_property
from pathlib import Path

from pipeline.analyse.bench import BenchRunner
from pipeline.bundle import list_bundles
from pipeline.cli.planning import PlanningContext
from pipeline.execute.build import Builder
from pipeline.execute.controls import controls_of
from pipeline.execute.discover import discovered
from pipeline.execute.options import known_options, read_patches
from pipeline.execute.watch import Watcher
from pipeline.execute.workspace import Workspace
from pipeline.machine.account import find_account
from pipeline.machine.disturbance.guard import Guard
from pipeline.machine.preflight import preflight
from pipeline.machine.system import System
from pipeline.model import Cell, Machine
from pipeline.store.ingest import IngestReport, ingest


class MeasuringContext(PlanningContext):
    """What a verb needs that measures or ingests: servers, load generators and statistics."""

    @cached_property
    def workspace(self) -> Workspace:
        """Where servers run."""
        return Workspace(self.cache, find_account())

    @cached_property
    def guard(self) -> Guard:
        """What watches the steps that are measured."""
        return Guard(self.config.disturbance)

    @cached_property
    def builder(self) -> Builder:
        """Where builds come from. Raises UserError for a patch that is not there."""
        machine = self.config.machine
        return Builder(
            self.cache,
            find_account(),
            options=known_options(self.file),
            patches=read_patches(self.file),
            at_once=machine.builds,
            jobs=machine.jobs,
            limit=self.config.paths.builds_limit,
        )

    def preflight(self, note: Callable[[str], None], last: Machine | None = None) -> dict[str, str]:
        """Look at this machine before it measures; return what it is warned of, by check.

        ``last`` is what it was at its last run, if that is known. Raises UserError where the
        settings refuse it.
        """
        policy = self.config.preflight.policy(quick=self.quick)
        found = preflight(System(folder=self.cache), policy, last, note, self.warned)
        self.warned |= found
        return found

    def runner(self, folder: Path, watcher: Watcher) -> BenchRunner:
        """Return this machine as what an experiment measures on, into the folder of that."""
        settings = self.config.machine
        return BenchRunner(
            folder,
            self.builder,
            self.workspace,
            self.machine,
            watcher,
            self.guard,
            pin=settings.pin,
            port=settings.port,
            preflight=lambda: self.preflight(watcher.note),
        )

    def controls(self, night: date) -> list[Cell]:
        """What this machine measures in a night of its own sake, from what was discovered.

        Nothing where it only concludes from what others measured, and nothing with profiles.
        """
        if not self.config.control or self.profile or not self.measures:
            return []
        return controls_of(self.file, discovered(self.results), self.machine, night, self.quick)

    def ingest(
        self, paths: Iterable[Path] | None = None, progress: Callable[[], None] = lambda: None
    ) -> IngestReport:
        """Take bundles into the store, by default all that it does not have yet."""
        wanted = list_bundles(self.bundles) if paths is None else paths
        return ingest(self.store, wanted, progress)
