"""One step: the load generator runs, the probes watch, the raw output is kept."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack

from pipeline.machine.account import contained
from pipeline.model import Frozen, Sample
from pipeline.probes.base import Probe
from pipeline.probes.sampler import Sampler, SamplerThread

PATIENCE = 120.0
"""Seconds a command may take beyond the time it was given, before it counts as hung."""


class Executed(Frozen):
    """What a command left: its output, its exit code, what the probes saw meanwhile."""

    text: str
    exit_code: int
    seconds: float
    samples: tuple[Sample, ...]
    hung: bool

    @property
    def failure(self) -> str:
        """Why it failed, in one line; empty when it did not."""
        if self.hung:
            return f"did not end within {self.seconds:.0f} s and was killed"
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
    """Run a command to its end, sampling from the line at which ``started`` says it measures.

    ``probes`` gives the probes for the process of the command. ``measure`` is the length of the
    measured part, ``limit`` of the whole, in seconds, at most. A command that takes ``patience``
    longer than that is killed.
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
