"""The context of commands that measure: builds, servers, checks of the machine, controls."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.machine.account import find_account
from pipeline.machine.disturbance.base import DisturbanceKind
from pipeline.machine.disturbance.guard import Guard, RepeatBudget
from pipeline.machine.preflight import preflight
from pipeline.machine.system import System
from pipeline.measure.build import Builder
from pipeline.measure.build_options import known_options, read_patches
from pipeline.measure.controls import controls_of
from pipeline.measure.discover import discovered
from pipeline.measure.progress import Watcher
from pipeline.measure.workspace import Workspace
from pipeline.model import Cell, Machine, Mode
from pipeline.storage.base_rates import usual_shares
from pipeline.storage.bundle import list_bundles
from pipeline.storage.journal import now
from pipeline.storage.quarantine import Quarantine
from pipeline.use_cases.planning import PlanningContext

if TYPE_CHECKING:
    from pipeline.experiments.runner import BenchRunner
    from pipeline.storage.ingest import IngestReport

_LOG = logging.getLogger(__name__)


class MeasuringContext(PlanningContext):
    """A configuration with everything needed to build, measure and store results."""

    @cached_property
    def workspace(self) -> Workspace:
        """The folder in which servers run."""
        return Workspace(self.cache, find_account())

    @cached_property
    def guard(self) -> Guard:
        """The guard that watches the steps of experiments for disturbances."""
        return Guard(self.config.disturbance, usual=self._usual())

    def night_guard(self) -> Guard:
        """Return the guard of a night, which has a budget of repeats."""
        limits = self.config.disturbance
        return Guard(limits, usual=self._usual(), budget=RepeatBudget(limits.budget))

    def _usual(self) -> dict[DisturbanceKind, float]:
        found = usual_shares(self.bundles, self.machine.hostname, now().date())
        return {DisturbanceKind(kind): share for kind, share in found.items()}

    @cached_property
    def builder(self) -> Builder:
        """The builder that makes builds. Raises UserError if a patch file is missing."""
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

    def preflight(
        self, note: Callable[[str], None], mode: Mode, last: Machine | None = None
    ) -> dict[str, str]:
        """Check this machine before it measures; return the warnings by check.

        Only the mode time waits until the machine is idle. ``last`` is the fingerprint of this
        machine at its last run, if known. Raises UserError if a bad finding refuses the night.
        """
        policy = self.config.preflight.policy(waits=mode is Mode.TIME and not self.quick)
        found = preflight(System(folder=self.cache), policy, last, note, self.warned)
        self.warned |= found
        return found

    def runner(self, folder: Path, watcher: Watcher, mode: Mode) -> BenchRunner:
        """Return the runner that measures experiments on this machine, into ``folder``."""
        from pipeline.experiments.runner import BenchRunner  # noqa: PLC0415

        settings = self.config.machine
        return BenchRunner(
            folder,
            self.builder,
            self.workspace,
            self.machine,
            watcher,
            self.guard,
            self.quarantine,
            port=settings.port,
            preflight=lambda: self.preflight(watcher.note, mode),
        )

    @contextmanager
    def experimenting(
        self, folder: Path, stage: str, seconds: float, watcher: Watcher, mode: Mode, **about: str
    ) -> Iterator[BenchRunner]:
        """Begin an experiment: log it, and yield the runner that measures on this machine.

        ``folder`` is the folder of the experiment, ``about`` are additional fields of the log
        event. The watcher shows ``stage`` with a duration of ``seconds``. Raises UserError while
        another process measures on this machine, and if preflight fails.
        """
        _LOG.info("experiment begins", extra={"experiment": folder.name, **about})
        watcher.begin(stage, seconds)
        try:
            with self.runner(folder, watcher, mode) as runner:
                yield runner
        finally:
            watcher.end()

    def controls(self, night: date) -> list[Cell]:
        """Return the controls that this machine measures in a night.

        Empty on a machine that only evaluates results, and for a plan with profiles.
        """
        if not self.config.control or self.profile or not self.measures:
            return []
        return controls_of(self.file, discovered(self.results), self.machine, night, self.quick)

    @property
    def quarantine(self) -> Quarantine:
        """The folder of bundles that cannot be used."""
        return Quarantine(self.results)

    def new_bundles(self) -> list[Path]:
        """Return the bundles to ingest, after moving readable ones back from quarantine."""
        self.quarantine.release()
        left = self.quarantine.left()
        return [path for path in list_bundles(self.bundles) if path not in left]

    def ingest(
        self, paths: Iterable[Path] | None = None, progress: Callable[[], None] = lambda: None
    ) -> IngestReport:
        """Add bundles to the store, by default all that it does not have.

        A bundle that cannot be used goes to the quarantine, with a warning.
        """
        # Half a second of imports, which a verb that takes no bundle does without.
        from pipeline.storage.ingest import ingest  # noqa: PLC0415

        wanted = self.new_bundles() if paths is None else paths
        report = ingest(self.store, wanted, progress)
        for refused in report.refused:
            _LOG.warning(self.quarantine.take(refused))
        if report.taken or report.refused:
            _LOG.info(
                "bundles ingested",
                extra={
                    "taken": report.taken,
                    "known": report.known,
                    "measurements": report.measurements,
                    "refused": len(report.refused),
                },
            )
        return report
