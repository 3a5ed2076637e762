"""Run experiments on this machine, with its builds, servers and bundles."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from pipeline.experiments.experiment import Figure, Figures
from pipeline.machine.disturbance.guard import Guard
from pipeline.machine.memory_limit import check_memory_limits
from pipeline.machine.pinning import available
from pipeline.measure.build import Builder
from pipeline.measure.execution import Bench
from pipeline.measure.expected_time import Expectation
from pipeline.measure.harness import ATTEMPTS, HarnessError
from pipeline.measure.placement import cores_here, placement
from pipeline.measure.progress import Silent, Watcher
from pipeline.measure.run import measure_cell
from pipeline.measure.workspace import Workspace
from pipeline.model import MEASURED_HOW, Build, Cell, Machine, Step, StepStatus, Workload
from pipeline.storage.bundle import (
    BUNDLES,
    Bundle,
    BundleError,
    bundle_path,
    read_bundle,
)
from pipeline.storage.derive.background import SLA_METRICS
from pipeline.storage.ingest import steps_of
from pipeline.storage.quarantine import Quarantine
from pipeline.text.errors import UserError
from pipeline.workloads import find_family


class BenchRunner:
    """Measures cells on this machine, into the folder of one experiment.

    A context manager: inside it, no other process measures here (:meth:`Workspace.held`). A run
    with a bundle is not measured again; a bundle that cannot be used goes to the quarantine, and
    its run is repeated.
    """

    def __init__(
        self,
        folder: Path,
        builder: Builder,
        workspace: Workspace,
        machine: Machine,
        watcher: Watcher,
        guard: Guard,
        quarantine: Quarantine,
        *,
        port: int = 0,
        preflight: Callable[[], dict[str, str]] = dict,
    ) -> None:
        """Write the bundles of an experiment to ``folder``/bundles.

        Args:
            folder: the experiment's folder, ``results/experiments/NAME``; created on demand.
            builder: provides the builds.
            workspace: where servers run.
            machine: description of this machine.
            watcher: receives every run and its duration in seconds.
            guard: watches the steps; disturbed ones are repeated.
            quarantine: where bundles go that cannot be used.
            port: port of the server on loopback; 0 picks a free one.
            preflight: checks this machine once no other process measures on it; its result is
                kept in every bundle.
        """
        self._bundles = folder / BUNDLES
        self._builder, self._workspace, self._machine = builder, workspace, machine
        self._watcher, self._guard, self._quarantine = watcher, guard, quarantine
        self._port = port
        self._preflight = preflight
        self._warned: dict[str, str] = {}
        self._made: dict[str, Build] = {}
        self._held = ExitStack()

    def __enter__(self) -> Self:
        """Take the lease of this machine, so that nobody else measures.

        Raises UserError while another process measures on it, and if preflight fails.
        """
        self._workspace.check_tools()
        with ExitStack() as held:
            held.enter_context(self._workspace.held())
            held.callback(os.sched_setaffinity, 0, available())
            self._warned = self._preflight()
            self._held = held.pop_all()
        return self

    def __exit__(self, *failure: object) -> None:
        """Release the machine, and let this process use all processors again."""
        self._held.close()

    def prepare(self, cell: Cell) -> None:
        """Make the build of a cell, unless it exists.

        Raises :class:`pipeline.measure.build.NotBuiltError` for a revision that does not build, and
        UserError for errors that the revision did not cause.
        """
        if not self.built(cell):
            self._watcher.note(
                f"preparing the build of {cell.revision.target} {cell.revision.version}"
            )
        self._made[cell.key] = self._builder.obtain(cell.revision, cell.build_options)

    def built(self, cell: Cell) -> bool:
        """Whether the build of a cell exists."""
        return self._builder.find(cell.revision, cell.build_options) is not None

    def measure(self, cell: Cell, attempt: int) -> Figures:
        """Run a cell once on a freshly started server; return the value of each metric.

        A run that ends with a harness error is repeated a few times before the error is raised.
        Raises as :meth:`prepare` does, and UserError for an error that ends the whole run.
        """
        path = bundle_path(self._bundles, cell.run_id(attempt))
        if path.exists():
            try:
                return figures_of(read_bundle(path))
            except BundleError as error:
                self._watcher.note(self._quarantine.take(error))
        if cell.key not in self._made:
            self.prepare(cell)
        for _ in range(ATTEMPTS - 1):
            try:
                return figures_of(read_bundle(self._run(cell, attempt)))
            except HarnessError as error:
                self._watcher.note(
                    f"{cell.run_id(attempt)}: failed for a reason outside of the DBMS, and is "
                    f"repeated: {error}"
                )
        return figures_of(read_bundle(self._run(cell, attempt)))

    def _run(self, cell: Cell, attempt: int) -> Path:
        if cell.machine_class != self._machine.machine_class:
            raise UserError(
                f"{cell.revision.target} {cell.revision.label} must be measured on a machine of "
                f"class {cell.machine_class}, but this machine is of class "
                f"{self._machine.machine_class}; run `nightshift pursue` on a machine of class "
                f"{cell.machine_class}"
            )
        processors = available()
        pinning = placement(cell, cores_here())
        bench = Bench(
            machine=self._machine,
            pinning=pinning,
            port=self._port,
            tools=find_family(cell.workload.family).tools(),
            preflight=self._warned,
        )
        if cell.workload.memory_bytes:
            check_memory_limits()
        began = time.monotonic()
        self._watcher.run_begins(cell, attempt)
        if pinning.harness:
            os.sched_setaffinity(0, pinning.harness)
        try:
            return measure_cell(
                cell,
                attempt,
                self._made[cell.key],
                bench,
                self._workspace,
                self._bundles,
                _Steps(self._watcher),
                Expectation([cell]),
                self._guard,
            )
        finally:
            os.sched_setaffinity(0, processors)
            # The total number of runs is unknown, so only the time spent is reported.
            self._watcher.advance(time.monotonic() - began)


class _Steps(Silent):
    """Passes the messages of a run on to the watcher of an experiment, but not its progress."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def note(self, text: str) -> None:
        """Pass a line of text on to the watcher of the experiment."""
        self._watcher.note(text)

    def step_begins(self, step: Step) -> None:
        """Show that a step of the run begins."""
        self._watcher.step_begins(step)


def figures_of(bundle: Bundle) -> Figures:
    """Return the value of every metric of every step of a run.

    A step that failed has none; one that failed its SLA has only those that the SLA is about.
    """
    return {
        Figure(values.step.name, metric): value
        for values in steps_of(bundle)
        for metric, value in values.values.items()
        if values.status is StepStatus.OK
        or (values.status is StepStatus.SLA_FAILED and metric in SLA_METRICS)
    }


def only_steps(workload: Workload, steps: Sequence[str]) -> Workload:
    """Return a workload with only some of its steps, and the loads and writes that these need."""
    family = find_family(workload.family)
    fewer = family.workload(workload.name, steps, workload.scale, workload.options)
    return fewer.model_copy(update={name: getattr(workload, name) for name in MEASURED_HOW})
