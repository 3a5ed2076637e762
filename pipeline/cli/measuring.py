"""A configuration at work on this machine: planned, built, measured and taken into the store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from pipeline.analyse.bench import BenchRunner
from pipeline.bundle import list_bundles
from pipeline.cli.context import Context
from pipeline.errors import UserError
from pipeline.execute.build import Builder
from pipeline.execute.controls import controls_of
from pipeline.execute.discover import Discovered, Offer, discovered
from pipeline.execute.lines import offers_of
from pipeline.execute.options import known_options, read_patches
from pipeline.execute.plan import Plan, check_workloads, make_plan
from pipeline.execute.watch import Watcher
from pipeline.execute.workspace import Workspace
from pipeline.machine.account import find_account
from pipeline.machine.disturbance.guard import Guard
from pipeline.machine.preflight import preflight
from pipeline.machine.system import System
from pipeline.model import Cell, Machine
from pipeline.store.ingest import IngestReport, ingest
from pipeline.store.queries import measured_cells


class MeasuringContext(Context):
    """What a verb needs that plans or measures.

    A module of its own, as all sources, targets and workloads come with it: verbs that only look
    begin in a third of the time.
    """

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

    def offers(self) -> list[Offer]:
        """What the lines ask for. Raises UserError for mistakes in the file, all checked."""
        if not self.config.line or not self.config.workload:
            raise UserError(
                f"{self.file.path} names no line or no workload, so there is nothing to measure; "
                "add a [[line]] and a [[workload]]"
            )
        check_workloads(self.file)
        return offers_of(self.file)

    def plan(
        self,
        found: Discovered | None = None,
        also: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> Plan:
        """What is to be measured, from what was discovered.

        ``also`` are labels of revisions that are measured besides the newest, by line.
        """
        self.offers()
        known = found if found is not None else discovered(self.results)
        measured = measured_cells(self.store)
        return make_plan(self.file, known, self.machines, self.quick, self.profile, measured, also)

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
