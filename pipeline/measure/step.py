"""Run one step: start the load generator, sample the probes, and keep the raw output."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack

from pipeline.machine.account import contained
from pipeline.model import Frozen, ProbeSample
from pipeline.probes.base import Probe
from pipeline.probes.sampler import Sampler, SamplerThread

PATIENCE = 120.0
"""Seconds beyond its time limit after which a command counts as hung."""


class Executed(Frozen):
    """A finished command: its output, its exit code, and the samples taken while it ran."""

    text: str
    exit_code: int
    seconds: float
    samples: tuple[ProbeSample, ...]
    hung: bool

    @property
    def failure(self) -> str:
        """Why the command failed, in one line; empty if it succeeded."""
        if self.hung:
            return f"was killed because it did not end within {self.seconds:.0f} s"
        if self.exit_code == 0:
            return ""
        how = f"exit code {self.exit_code}"
        if self.exit_code < 0:
            how = f"ended by {signal.Signals(-self.exit_code).name}"
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        fatal = [line for line in lines if "FATAL" in line] or lines[-1:] or ["no output"]
        return f"{how}: {fatal[0]}"


def execute(
    command: Sequence[str],
    processors: Sequence[int],
    probes: Callable[[int], Sequence[Probe]],
    started: Callable[[str], bool],
    measure: float,
    limit: float,
    patience: float = PATIENCE,
) -> Executed:
    """Run a command to its end. Sampling begins with the output line that ``started`` accepts.

    ``probes`` returns the probes for the process id of the command. ``measure`` is the duration of
    the measured part and ``limit`` the maximum duration of the whole command, in seconds. A command
    that takes ``patience`` seconds longer than ``limit`` is killed.
    """
    hung = threading.Event()
    lines: list[str] = []
    began = time.monotonic()
    with subprocess.Popen(
        contained(command, processors),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        watching = probes(process.pid)
        sampler = SamplerThread(Sampler(watching))

        def give_up() -> None:
            hung.set()
            process.kill()

        watchdog = threading.Timer(limit + patience, give_up)
        watchdog.daemon = True
        watchdog.start()
        with ExitStack() as beside:
            try:
                for probe in watching:
                    if isinstance(probe, AbstractContextManager):
                        beside.enter_context(probe)
                for line in process.stdout or ():
                    lines.append(line)
                    if started(line):
                        sampler.start(measure)
                process.wait()
            finally:
                watchdog.cancel()
                process.kill()
                process.wait()
                samples = sampler.finish()
    return Executed(
        text="".join(lines),
        exit_code=process.returncode,
        seconds=time.monotonic() - began,
        samples=tuple(samples),
        hung=hung.is_set(),
    )
