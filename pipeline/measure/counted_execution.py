"""Execute a cell in the mode count: run each step at two lengths, and count instructions.

A length is a number of operations. The difference between the two counts is what the additional
operations cost. Start-up, connecting and the first operations, which fill the caches of a
connection, cancel.
"""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import NamedTuple

import psutil

from pipeline.measure.callgrind import FOLDER, Callgrind
from pipeline.measure.counting import CountedLength, CountError, per_operation
from pipeline.measure.execution import Execution
from pipeline.measure.harness import HarnessError, client_error
from pipeline.measure.step import Executed, execute
from pipeline.model import ServerConfig, Step, StepCounts, StepRecord, StepStatus
from pipeline.profiles.callgrind import CallgrindProfile
from pipeline.storage.bundle import COUNTS_MEMBER
from pipeline.targets.base import Server, ServerError
from pipeline.text.errors import first_line
from pipeline.workloads.base import Count, Measure

COUNTED_LIMIT = 900.0
"""Seconds after which a counted command counts as hung: some fifty times the time of a step."""


class _CountedCommand(NamedTuple):
    """One command of a counted step: its result, its length, and any failure."""

    command: tuple[str, ...]
    done: Executed
    length: CountedLength
    failure: str


class CountedExecution(Execution):
    """The execution of a cell that counts instructions; no probe takes samples meanwhile."""

    _callgrind: Callgrind

    def _instrument(self) -> tuple[str, ...]:
        """Return the server's command, wrapped so that instructions are counted."""
        self._callgrind = Callgrind(
            self._folder / FOLDER,
            self._target.counting,
            self._workspace.account,
            cache_simulation=self._cell.workload.cache_simulation,
        )
        return self._callgrind.command

    def _config(self) -> ServerConfig:
        """Return a configuration without background work, which would disturb the count."""
        config = self._cell.config
        for name, value in self._target.counting.settings.items():
            config = self._target.with_setting(config, name, value)
        return config

    def _on_ready(self, server: Server) -> None:
        """Run the workload without probes, whose samples mean nothing when counting."""
        self._perform(server)

    def _step(self, action: Measure, server: Server) -> None:
        """Count the instructions of a step and record them."""
        step = action.step
        self._watcher.step_begins(step)
        started_at = datetime.now(UTC)
        with self._target.counting.held_back(server.connection):
            counts, last, seconds, failure = self._count(step, server)
        folder = self._step_folder(step)
        self._files[f"{folder}/stdout.txt"] = last.done.text.encode()
        if counts is not None:
            self._files[f"{folder}/{COUNTS_MEMBER}"] = counts.model_dump_json().encode()
        else:
            self._check_space(last.done.text)
            self._watcher.note(f"{self._cell.revision.label} {step.name} failed: {failure}")
        self._steps.append(
            StepRecord(
                step=step,
                status=StepStatus.FAILED if failure else StepStatus.OK,
                started_at=started_at,
                wall_seconds=seconds,
                command=last.command,
                folder=folder,
                note=failure,
            )
        )
        if failure:
            self._check_server(server, ())
        self._expectation.over(self._cell, step, None if failure else seconds)
        self._watcher.advance(seconds, self._expectation.left)

    def _count(
        self, step: Step, server: Server
    ) -> tuple[StepCounts | None, _CountedCommand, float, str]:
        """Count a step; return its costs, its last command, its duration and any failure.

        Raises HarnessError if somebody killed the load generator.
        """
        events = self._family.counted_events(step, self._cell.workload)
        seconds = 0.0
        if server.pid is not None:
            # The first command on a server also fills caches that its connections share.
            first = self._run(Count(step=step, events=events), server)
            seconds += first.done.seconds
            if first.failure:
                return None, first, seconds, first.failure
        shorter = self._run(Count(step=step, events=events), server)
        seconds += shorter.done.seconds
        if shorter.failure:
            return None, shorter, seconds, shorter.failure
        longer = self._run(Count(step=step, events=self._target.counting.longer * events), server)
        seconds += longer.done.seconds
        if longer.failure:
            return None, longer, seconds, longer.failure
        try:
            counts = per_operation(shorter.length, longer.length, self._target.counting)
        except CountError as error:
            return None, longer, seconds, str(error)
        return counts, longer, seconds, ""

    def _run(self, action: Count, server: Server) -> _CountedCommand:
        """Run a step at one length (number of operations), and count its instructions.

        Raises HarnessError if somebody killed the load generator.
        """
        workload, threads = self._cell.workload, self._target.counting.threads
        command = self._family.command(action, workload, server.connection, self._seed)
        before = _processes(server.pid)
        if server.pid is not None and threads:
            self._callgrind.dump(server.pid)
        self._callgrind.clear()
        # A command of the target's own is under the instrument already.
        wrapped = server.pid is None and not server.connection.command
        done = execute(
            (*self._callgrind.command, *command) if wrapped else command,
            self._bench.pinning.client if server.pid else self._bench.pinning.server,
            lambda _: (),
            lambda _: False,
            measure=0.0,
            limit=COUNTED_LIMIT,
        )
        if ours := client_error(done):
            run = self._cell.run_id(self._repetition)
            raise HarnessError(f"{run}: {action.step.name}: {ours}")
        length, failure = CountedLength(0.0, ()), done.failure
        if not failure:
            try:
                operations = self._family.counted_operations(action.step, workload, done.text)
                length = CountedLength(operations, self._profiles(server, before))
            except (CountError, ValueError) as error:
                failure = first_line(error)
        return _CountedCommand(command, done, length, failure)

    def _profiles(self, server: Server, before: set[int]) -> list[CallgrindProfile]:
        """Return the counts of the last command alone."""
        if server.pid is not None and not self._target.counting.threads:
            return self._callgrind.await_client(before)
        if server.pid is not None:
            self._callgrind.dump(server.pid)
        return self._callgrind.profiles()


def _processes(pid: int | None) -> set[int]:
    """Return the ids of all present processes of a server; none for a server without a process."""
    if pid is None:
        return set()
    with contextlib.suppress(psutil.NoSuchProcess):
        return {pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))}
    raise ServerError("the server has exited")
