"""Execute a cell: start the server, load data, run the steps, write the bundle."""

from __future__ import annotations

import errno
import json
import logging
import os
import signal
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field

from pipeline.machine.disturbance.base import Disturbance, DisturbanceKind
from pipeline.machine.disturbance.guard import Guard
from pipeline.machine.memory_limit import drop_cached, memory_limit
from pipeline.machine.ports import free_port
from pipeline.measure.expected_time import Expectation
from pipeline.measure.harness import ATTEMPTS, HarnessError, client_error, server_end
from pipeline.measure.placement import TaskSeparation
from pipeline.measure.progress import Watcher
from pipeline.measure.step import Executed, execute
from pipeline.measure.workspace import Workspace
from pipeline.model import (
    Build,
    Cell,
    Frozen,
    Machine,
    Manifest,
    Origin,
    PhaseRecord,
    Pinning,
    ServerConfig,
    Step,
    StepRecord,
    StepStatus,
    attempt_name,
    digest,
)
from pipeline.probes import all_probes
from pipeline.probes.base import Probe, ProfileError, dump_samples
from pipeline.probes.dbms import DbmsActivity
from pipeline.probes.perf_counters import available
from pipeline.probes.profile import Profile
from pipeline.probes.waiting_stacks import WaitingStacks
from pipeline.profiles.flame_graph import flame_graph
from pipeline.profiles.folded import dump_folded
from pipeline.storage.bundle import write_bundle
from pipeline.targets import find_target
from pipeline.targets.base import Placement, Server, ServerError, StartError
from pipeline.text.errors import UserError, first_line
from pipeline.workloads import find_family
from pipeline.workloads.base import Command, Load, Maintain, Measure, Warm
from pipeline.workloads.base.plans import PLANS_MEMBER

_LOG = logging.getLogger(__name__)


_DISK_FULL = os.strerror(errno.ENOSPC)
"""The kernel's message for a full disk, which servers forward to their clients."""

_DYING = 2.0
"""Seconds to wait for a server to end after it stopped answering."""

_PLANS_PATIENCE = 60.0
"""Seconds to wait for the plans of all statements; they take milliseconds."""


class Bench(Frozen):
    """The machine that measures, and the warnings of its checks before the night."""

    machine: Machine
    pinning: Pinning
    port: int  # 0 for any port that is free when a server starts
    tools: dict[str, str]
    preflight: dict[str, str] = Field(default_factory=dict)


def seed_of(cell: Cell, repetition: int) -> int:
    """Return the seed for a run's random keys, which is the same for all revisions."""
    return int(digest([cell.workload.hash, repetition])[:7], 16) + 1


class Execution:
    """One timed execution of a cell: its completed steps so far, and their files."""

    def __init__(
        self,
        cell: Cell,
        repetition: int,
        build: Build,
        bench: Bench,
        workspace: Workspace,
        watcher: Watcher,
        expectation: Expectation,
        guard: Guard,
    ) -> None:
        self._cell, self._repetition, self._build = cell, repetition, build
        self._bench, self._workspace, self._watcher = bench, workspace, watcher
        self._expectation, self._guard = expectation, guard
        self._target = find_target(cell.revision.target)
        self._family = find_family(cell.workload.family)
        self._seed = seed_of(cell, repetition)
        self._phases: list[PhaseRecord] = []
        self._steps: list[StepRecord] = []
        self._repeated: list[StepRecord] = []
        self._ended_with: tuple[Disturbance, ...] = ()
        self._disturbed: list[Disturbance] = []
        self.again = False
        self._files: dict[str, bytes] = {}
        self._sampled: dict[str, str] = {}
        self._folder = Path()
        self._recorders: dict[str, Profile | WaitingStacks] = {}
        self._notes: list[str] = []
        self._limit: tuple[str, ...] = ()

    @property
    def failed_steps(self) -> int:
        """How many steps of the run have failed so far."""
        return sum(record.status is StepStatus.FAILED for record in self._steps)

    def bundle(self, bundles: Path, attempt: int) -> Path:
        """Execute the run and write its bundle; ``self.again`` then says whether to repeat the run.

        Raises as :func:`pipeline.measure.run.measure_cell` does.
        """
        started_at = datetime.now(UTC)
        self._watcher.run_begins(self._cell, self._repetition)
        with self._workspace.folder(self._cell.run_id(self._repetition)) as folder:
            self._folder = folder
            try:
                self._on_server(folder)
                for log in folder.glob("*.log"):
                    self._files[log.name] = log.read_bytes()
            except HarnessError:
                raise
            except UserError as error:
                raise HarnessError(str(error)) from error
            except OSError as error:
                where = f"{error.filename}: " if error.filename else ""
                raise HarnessError(f"{where}{error.strerror or first_line(error)}") from error
        self.again = self._guard.repeats_run(
            self._disturbed, attempt - 1, failed=bool(self.failed_steps)
        )
        if self.again:
            self._watcher.note(
                f"{self._cell.revision.label}: something else on this machine disturbed the run, "
                "so it is repeated"
            )
        counted = available()
        manifest = Manifest(
            run_id=self._cell.run_id(self._repetition),
            origin=Origin.MEASURED,
            revision=self._cell.revision,
            build=self._build,
            config=self._cell.config,
            machine=self._bench.machine,
            workload=self._cell.workload,
            cell_key=self._cell.key,
            control=self._cell.control,
            repetition=self._repetition,
            started_at=started_at,
            # The time of day may have been set back meanwhile.
            ended_at=max(started_at, datetime.now(UTC)),
            pinning=self._bench.pinning,
            tools=self._bench.tools,
            preflight=self._bench.preflight,
            sampled=self._sampled,
            steps=tuple(self._steps),
            repeated=tuple(self._repeated),
            attempt=attempt if self.again else 0,
            phases=tuple(self._phases),
            notes="; ".join(filter(None, (counted.refused, counted.lacks, *self._notes))),
        )
        return write_bundle(bundles, manifest, self._files)

    def _on_server(self, folder: Path) -> None:
        with ExitStack() as stack:
            if memory := self._cell.workload.memory_bytes:
                self._limit = stack.enter_context(memory_limit(memory))
            self._on_limited_server(folder)

    def _on_limited_server(self, folder: Path) -> None:
        try:
            options = self._target.initial_options(self._cell.config)
            template = self._workspace.template(self._build, options)
            placement = Placement(
                folder=folder,
                # Chosen as late as possible: creating a template can take minutes.
                port=self._bench.port or free_port(),
                processors=(*self._bench.pinning.server, *self._bench.pinning.background),
                background=self._bench.pinning.background,
                account=self._workspace.account,
                instrument=self._instrument(),
                limit=self._limit,
            )
            with self._phase("start"):
                server = self._target.start(self._build, self._config(), template, placement)
        except StartError as error:
            # A revision that does not start is a result, too; the next one is measured.
            self._check_space(str(error))
            self._give_up(str(error))
            return
        try:
            settings = json.dumps(dict(server.settings()), indent=0, sort_keys=True)
            self._files["settings.json"] = settings.encode()
            self._on_ready(server)
        except ServerError as error:
            # A server that dies during its workload is a result: its remaining steps fail.
            self._check_space(str(error))
            ended = server_end(server.pid, wait=_DYING)
            self._check_killed(ended, (*self._disturbed, *self._ended_with))
            self._give_up(f"the server stopped answering: {error}")
        finally:
            with self._phase("stop"):
                server.stop()

    def _instrument(self) -> tuple[str, ...]:
        """Return the command that runs the server; a timed server needs no wrapper."""
        return ()

    def _config(self) -> ServerConfig:
        """Return the configuration that the server is started with."""
        return self._cell.config

    def _on_ready(self, server: Server) -> None:
        self._sampled = {
            field.name: f"{field.kind.value}, {field.unit}"
            for probe in self._probes(server, os.getpid())
            for field in probe.fields
        }
        self._perform(server)

    def _perform(self, server: Server) -> None:
        """Perform all actions of the workload in order: loads, steps, maintenance."""
        actions = self._family.actions(self._cell.workload)
        maintained = [at for at, action in enumerate(actions) if isinstance(action, Maintain)]
        for at, action in enumerate(actions):
            match action:
                case Measure():
                    self._step(action, server)
                case Load():
                    self._prepare("load", action, server)
                case Warm():
                    self._prepare(f"warm-up {action.step.name}", action, server)
                case Maintain():
                    with self._phase("maintenance"):
                        server.maintain(self._family.tables(self._cell.workload))
                        if self._limit and server.pid is None:
                            drop_cached(self._folder / "data")
                        time.sleep(action.rest)
                    # Once, after the last maintenance: reads use these plans, with its statistics.
                    if at == maintained[-1]:
                        self._keep_plans(server)

    def _prepare(self, name: str, action: Load | Warm, server: Server) -> None:
        """Load data or warm up. A failed load ends the run, as nothing can be measured."""
        command, done = self._execute(action, server, lambda _: ())
        self._phases.append(PhaseRecord(name=name, seconds=done.seconds, command=command))
        if done.failure:
            self._check_space(done.text)
            if isinstance(action, Warm) and server.pid is None:
                # The load generator is the DBMS, so its failure is a result.
                raise ServerError(f"{name} failed ({done.failure})")
            raise UserError(
                f"{self._cell.run_id(self._repetition)}: {name} failed ({done.failure}); "
                "correct the cause and run the same command again"
            )

    def _step(self, action: Measure, server: Server) -> None:
        """Measure a step. Repeat it at once if it was disturbed and can be repeated."""
        self._watcher.step_begins(action.step)
        while not self._attempt(action, server):
            pass

    def _attempt(self, action: Measure, server: Server) -> bool:
        """Measure a step once and record it; return whether the result counts."""
        step = action.step
        repeated = sum(record.step == step for record in self._repeated)
        started_at = datetime.now(UTC)
        serving = {*self._bench.pinning.server, *self._bench.pinning.client}
        watched = self._guard.watch({os.getpid(), server.pid or os.getpid()}, serving)
        try:
            command, done = self._execute(
                action, server, lambda client: self._profiled(server, client), repeated
            )
        except ServerError:
            self._ended_with = watched.over()
            raise
        self._ended_with = found = watched.over(done.samples)
        failure = done.failure or self._unreadable(action, done)
        ours = client_error(done)
        # A failed step may have damaged the server, so it is not repeated on it.
        at_once = self._family.repeatable(step) and (not failure or bool(ours))
        again = at_once and (
            repeated < ATTEMPTS - 1 if ours else self._guard.repeats(found, repeated, done.seconds)
        )
        if ours and not again:
            raise HarnessError(f"{self._cell.run_id(self._repetition)}: {step.name}: {ours}")
        folder = self._step_folder(step)
        if again:
            folder = attempt_name(folder, repeated + 1)
        self._files[f"{folder}/stdout.txt"] = done.text.encode()
        self._files[f"{folder}/samples.jsonl"] = dump_samples(done.samples)
        self._keep_profiles(folder, step)
        if failure:
            self._check_space(done.text)
        record = StepRecord(
            step=step,
            status=StepStatus.FAILED if failure else StepStatus.OK,
            started_at=started_at,
            wall_seconds=done.seconds,
            command=command,
            folder=folder,
            database_bytes=None if failure else server.database_bytes(),
            note=failure,
            disturbed={each.kind.value: each.reported for each in found},
            taken={kind.value: round(share, 4) for kind, share in watched.taken.items()},
        )
        self._ended_with = ()
        if failure:
            self._watcher.note(f"{self._cell.revision.label} {step.name} failed: {failure}")
        self._report_disturbed(record, again=again)
        if again:
            self._repeated.append(record)
            return False
        if self._guard.budget is not None:
            self._guard.budget.measured(done.seconds)
        self._steps.append(record)
        if not at_once:
            self._disturbed += found
        if failure:
            self._check_server(server, found)
        self._expectation.over(self._cell, step, None if failure else done.seconds)
        self._watcher.advance(done.seconds, self._expectation.left)
        return True

    def _report_disturbed(self, record: StepRecord, *, again: bool) -> None:
        """Report what disturbed a step: in a night only to the log, which sums it up at its end."""
        also = "; repeated" if again else ""
        for reported in record.disturbed.values():
            text = f"{self._cell.revision.label} {record.step.name} disturbed: {reported}{also}"
            if self._guard.budget is None:
                self._watcher.note(text)
            else:
                _LOG.info(text)

    def _step_folder(self, step: Step) -> str:
        """Return the folder in the bundle for the files of the next step."""
        return f"steps/{len(self._steps) + 1:02d}-{step.name.replace('=', '-')}"

    def _check_server(self, server: Server, found: Collection[Disturbance]) -> None:
        """After a failed step, raise ServerError if the server cannot run another step.

        Raises HarnessError for a server that somebody killed. If memory was exhausted the server
        may be at fault, and its failure is a result.
        """
        kinds = {each.kind for each in found}
        end = server_end(server.pid)
        self._check_killed(end, found)
        if isinstance(end, signal.Signals):
            raise ServerError(f"ended by {end.name}")
        if end is not None:
            raise ServerError(f"ended with exit code {end}")
        if DisturbanceKind.STOPPED in kinds and server.pid is not None:
            raise ServerError("stopped by a signal")

    def _check_killed(
        self, end: signal.Signals | int | None, found: Collection[Disturbance]
    ) -> None:
        """Raise HarnessError if another program killed the server."""
        kinds = {each.kind for each in found}
        if end is signal.SIGKILL and DisturbanceKind.OUT_OF_MEMORY not in kinds:
            run = self._cell.run_id(self._repetition)
            raise HarnessError(f"{run}: another program killed the server (SIGKILL)")

    def _probes(self, server: Server, client: int) -> list[Probe]:
        """Return the probes that sample a step; ``client`` is its load generator's process."""
        # Some DBMSs run inside the load generator, which is then the server process.
        probes = all_probes(server.pid, client) if server.pid else all_probes(client)
        if server.activity is not None:
            probes.append(DbmsActivity(*server.activity, refusal=ServerError))
        if self._bench.pinning.background:
            probes.append(TaskSeparation(server.pid or client, server.serves, self._bench.pinning))
        return probes

    def _profiled(self, server: Server, client: int) -> list[Probe]:
        """Return the probes, with those of a CPU profile and of waits if the workload asks."""
        probes = self._probes(server, client)
        if self._cell.workload.profile:
            pid = server.pid or client
            cpu, waits = Profile(pid, self._folder / "perf.data"), WaitingStacks(pid)
            self._recorders = {"profile": cpu, "waiting": waits}
            probes += (cpu, waits)
        return probes

    def _keep_profiles(self, folder: str, step: Step) -> None:
        """Put the stacks of a step into the bundle; report each failure only once."""
        profiles, self._recorders = self._recorders, {}
        for name, profile in profiles.items():
            try:
                stacks = profile.stacks()
            except ProfileError as error:
                if str(error) not in self._notes:
                    self._notes.append(str(error))
                    self._watcher.note(str(error))
                continue
            title = f"{self._build.target} {self._cell.revision.label}, {step.name}, {name}"
            self._files[f"{folder}/{name}.folded"] = dump_folded(stacks).encode()
            self._files[f"{folder}/{name}.svg"] = flame_graph(stacks, title).encode()

    def _keep_plans(self, server: Server) -> None:
        """Put the query plans into the bundle. A failure does not fail the run."""
        command = self._family.explain(self._cell.workload, server.connection, self._seed)
        if not command:
            return
        with self._phase("plans"):
            done = execute(
                command,
                self._bench.pinning.client,
                lambda _: (),
                lambda _: False,
                measure=0.0,
                limit=0.0,
                patience=_PLANS_PATIENCE,
            )
        if done.failure:
            self._notes.append(f"no query plans were recorded: {done.failure}")
        else:
            self._files[PLANS_MEMBER] = done.text.encode()

    def _give_up(self, why: str) -> None:
        """Record every step that has not run as failed."""
        self._watcher.note(f"{self._cell.revision.label}: {why}")
        disturbed, self._ended_with = self._ended_with, ()
        self._disturbed += disturbed
        ran = {record.step for record in self._steps}
        for action in self._family.actions(self._cell.workload):
            if isinstance(action, Measure) and action.step not in ran:
                self._steps.append(
                    StepRecord(
                        step=action.step,
                        status=StepStatus.FAILED,
                        started_at=datetime.now(UTC),
                        wall_seconds=0.0,
                        command=(),
                        folder="",
                        note=why,
                        disturbed={each.kind.value: each.reported for each in disturbed},
                    )
                )
                # Only the first of them had begun.
                disturbed = ()
                self._expectation.over(self._cell, action.step, None)
        self._watcher.advance(0.0, self._expectation.left)

    def _unreadable(self, action: Measure, done: Executed) -> str:
        try:
            self._family.parse(action.step, self._cell.workload, done.text)
        except ValueError as error:
            return first_line(error)
        return ""

    def _check_space(self, text: str) -> None:
        """Raise UserError if the disk is too full to continue.

        A full disk is not the revision's fault, and the user can fix it.
        """
        # A server that cannot write its log ends at once, and only the log says why.
        logs = [log.read_text(errors="replace") for log in self._folder.glob("*.log")]
        if any(_DISK_FULL in each for each in (text, *logs)):
            raise UserError(
                f"the disk that holds {self._workspace.cache} is full; free some space, or set "
                "paths.cache in nightshift.toml to a folder on another disk, and run the same "
                "command again"
            )

    def _execute(
        self,
        action: Command,
        server: Server,
        probes: Callable[[int], Sequence[Probe]],
        repeated: int = 0,
    ) -> tuple[tuple[str, ...], Executed]:
        workload = self._cell.workload
        # With the same keys again, caches would hold all that the step reads.
        seed = self._seed + repeated
        command = self._family.command(action, workload, server.connection, seed)
        timing = self._family.timing(action, workload)
        pinning = self._bench.pinning

        def started(line: str) -> bool:
            begins = self._family.started(line, action, workload)
            if begins:
                for profile in self._recorders.values():
                    profile.begin()
            return begins

        done = execute(
            command if server.pid else (*self._limit, *command),
            pinning.client if server.pid else pinning.embedded,
            probes,
            started,
            measure=timing.measured,
            limit=timing.limit,
        )
        return command, done

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._phases.append(PhaseRecord(name=name, seconds=time.monotonic() - began))
