"""The real runner of experiments: this machine, with its builds, its servers and its bundles."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from pipeline.analyse.experiment import Figure, Figures
from pipeline.analyse.series import SLA_METRICS
from pipeline.bundle import BUNDLES, Bundle, DamagedBundleError, bundle_path, read_bundle, set_aside
from pipeline.errors import UserError
from pipeline.execute.build import Builder
from pipeline.execute.expect import Expectation
from pipeline.execute.measure import Bench, measure_cell
from pipeline.execute.watch import Silent, Watcher
from pipeline.execute.workspace import Workspace
from pipeline.machine.disturbance.guard import Guard
from pipeline.machine.pinning import available, choose
from pipeline.model import Build, Cell, Machine, Pinning, Step, StepStatus, Workload
from pipeline.store.ingest import steps_of
from pipeline.workloads import find_family


class BenchRunner:
    """Measures cells on this machine into the folder of one experiment.

    A context: while it is entered, nobody else measures here (:meth:`Workspace.held`). Bundles
    that are in the folder already are read and not measured again; one that is damaged is set
    aside and its run is made anew.
    """

    def __init__(
        self,
        folder: Path,
        builder: Builder,
        workspace: Workspace,
        machine: Machine,
        watcher: Watcher,
        guard: Guard,
        *,
        pin: bool = True,
        port: int = 0,
        preflight: Callable[[], dict[str, str]] = dict,
    ) -> None:
        """Measure into ``folder``/bundles.

        Args:
            folder: of the experiment, as ``results/experiments/NAME``; made when needed.
            builder: where builds come from.
            workspace: where servers run.
            machine: what is known of this machine.
            watcher: told of every run, and of the seconds that it took.
            guard: watches the steps; what is disturbed is repeated.
            pin: keep server, client and harness on fixed cores.
            port: of the server on loopback; 0 picks a free one.
            preflight: looks at this machine once nobody else measures on it; what it returns is
                kept in every bundle.
        """
        self._bundles = folder / BUNDLES
        self._builder, self._workspace, self._machine = builder, workspace, machine
        self._watcher, self._guard = watcher, guard
        self._pin, self._port = pin, port
        self._preflight = preflight
        self._warned: dict[str, str] = {}
        self._made: dict[str, Build] = {}
        self._held = ExitStack()

    def __enter__(self) -> Self:
        """Hold this machine.

        Raises UserError while another process measures on it, and where preflight does.
        """
        self._workspace.check_tools()
        with ExitStack() as held:
            held.enter_context(self._workspace.held())
            held.callback(os.sched_setaffinity, 0, available())
            self._warned = self._preflight()
            self._held = held.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the machine back, and this process its processors."""
        self._held.close()

    def prepare(self, cell: Cell) -> None:
        """Obtain the build of a cell, if it is not there yet.

        Raises :class:`pipeline.execute.build.NotBuiltError` for a revision that does not build,
        and UserError for what has nothing to do with the revision.
        """
        if not self.built(cell):
            self._watcher.note(f"obtaining {cell.revision.target} {cell.revision.version}")
        self._made[cell.key] = self._builder.obtain(cell.revision, cell.build_options)

    def built(self, cell: Cell) -> bool:
        """Say whether the build of a cell is there already."""
        return self._builder.find(cell.revision, cell.build_options) is not None

    def measure(self, cell: Cell, attempt: int) -> Figures:
        """Run a cell once, on a freshly started server, and return its figures.

        Raises as :meth:`prepare`, and UserError for what ends the whole run.
        """
        path = bundle_path(self._bundles, cell.run_id(attempt))
        if path.exists():
            try:
                return figures_of(read_bundle(path))
            except DamagedBundleError as error:
                self._watcher.note(f"{error}; its run is measured again")
                set_aside(path)
        if cell.key not in self._made:
            self.prepare(cell)
        return figures_of(read_bundle(self._run(cell, attempt)))

    def _run(self, cell: Cell, attempt: int) -> Path:
        if cell.machine_class != self._machine.machine_class:
            raise UserError(
                f"{cell.revision.target} {cell.revision.label} has to be measured on a machine of "
                f"class {cell.machine_class}, and this one is of class "
                f"{self._machine.machine_class}; run `nightshift pursue` there"
            )
        processors = available()
        clients = cell.workload.scale.clients
        pinning = choose(clients, processors) if self._pin else Pinning()
        bench = Bench(
            machine=self._machine,
            pinning=pinning,
            port=self._port,
            tools=find_family(cell.workload.family).tools(),
            preflight=self._warned,
        )
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
            # How many runs there will be is not known, so that only what was spent is told.
            self._watcher.advance(time.monotonic() - began)


class _Steps(Silent):
    """Hands on what a run says, but not its progress, which is that of one run."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def note(self, text: str) -> None:
        """Say one line."""
        self._watcher.note(text)

    def step_begins(self, step: Step) -> None:
        """One step begins."""
        self._watcher.step_begins(step)


def figures_of(bundle: Bundle) -> Figures:
    """Return every figure of a run.

    A step that failed has none; one that failed its SLA only those that the SLA is about.
    """
    return {
        Figure(values.step.name, metric): value
        for values in steps_of(bundle)
        for metric, value in values.values.items()
        if values.status is StepStatus.OK
        or (values.status is StepStatus.SLA_FAILED and metric in SLA_METRICS)
    }


def narrowed(workload: Workload, steps: Sequence[str]) -> Workload:
    """Return a workload with only some of its steps, and the loads and writes that they need."""
    family = find_family(workload.family)
    fewer = family.workload(workload.name, steps, workload.scale, workload.options)
    return fewer.model_copy(update={"profile": workload.profile})
