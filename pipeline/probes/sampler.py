"""Read all probes once a second while a step runs.

The sampler decides when to read; the thread only runs the sampler at the same time as the step.
Clock and wait are arguments, so that tests of the schedule need not wait.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from pipeline.model import ProbeSample
from pipeline.probes.base import Probe

INTERVAL = 1.0
"""Seconds between samples, the same as between lines of iostat and vmstat in the published
reports."""

EARLY = 0.1
"""Seconds before the end of a step at which the last sample is taken: the counters of a connection
disappear when it closes, and a busy machine may be late with the sample."""


def schedule(seconds: float, interval: float = INTERVAL, early: float = EARLY) -> list[float]:
    """Return the times, in seconds since the start of a step, at which samples are taken."""
    last = max(seconds - early, 0.0)
    count = int(last / interval)
    moments = [index * interval for index in range(count + 1)]
    # A sample immediately before the last one would measure only noise.
    if last - moments[-1] < early and len(moments) > 1:
        moments.pop()
    return [*moments, last] if last > moments[-1] else moments


class Sampler:
    """Takes the samples of one step by reading all probes."""

    def __init__(
        self,
        probes: Sequence[Probe],
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self._probes = probes
        self._clock = clock
        self._stopped = threading.Event()
        self._wait = wait if wait is not None else self._stopped.wait
        self.samples: list[ProbeSample] = []

    def run(self, seconds: float) -> None:
        """Take samples until ``seconds`` have passed or :meth:`stop` is called."""
        start = self._clock()
        for moment in schedule(seconds):
            if self._wait(max(start + moment - self._clock(), 0.0)):
                return
            sample = self.take(start)
            # On a busy machine a reading may end after the step and then says nothing of it.
            if self._stopped.is_set() or self._clock() - start > seconds:
                return
            self.samples.append(sample)

    def take(self, start: float) -> ProbeSample:
        """Read all probes now, and return the sample with its seconds since ``start``."""
        values: dict[str, float] = {}
        began = self._clock()
        for probe in self._probes:
            values.update(probe.read())
        return ProbeSample((began + self._clock()) / 2 - start, values)

    def stop(self) -> None:
        """End :meth:`run` immediately."""
        self._stopped.set()


class SamplerThread:
    """Takes samples in a thread while the step runs."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self._thread: threading.Thread | None = None

    def start(self, seconds: float) -> None:
        """Start sampling; a second call has no effect."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self.sampler.run, args=(seconds,), name="sampler", daemon=True
            )
            self._thread.start()

    def finish(self) -> list[ProbeSample]:
        """Stop sampling, and return all samples of the step."""
        self.sampler.stop()
        if self._thread is not None:
            self._thread.join()
        return self.sampler.samples
