"""Reading all probes once a second, for the length of a step.

The sampler decides when; the thread only lets it run beside the step. Time comes in as an
argument, so that the schedule is tested without waiting.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from pipeline.model import Sample
from pipeline.probes.base import Probe

INTERVAL = 1.0
"""Seconds between samples, as iostat and vmstat are run in the published reports."""

EARLY = 0.1
"""Seconds before the end of a step at which the last sample is taken: connections that close
take their counters with them, and a busy machine may be late with the sample."""


def schedule(seconds: float, interval: float = INTERVAL, early: float = EARLY) -> list[float]:
    """Return the moments of the samples of a step, from 0 to just before its end."""
    last = max(seconds - early, 0.0)
    count = int(last / interval)
    moments = [index * interval for index in range(count + 1)]
    # A sample a blink before the last one would measure nothing but noise.
    if last - moments[-1] < early and len(moments) > 1:
        moments.pop()
    return [*moments, last] if last > moments[-1] else moments


class Sampler:
    """Takes the samples of one step."""

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
        self.samples: list[Sample] = []

    def run(self, seconds: float) -> None:
        """Sample until ``seconds`` have passed or :meth:`stop` was called."""
        start = self._clock()
        for moment in schedule(seconds):
            if self._wait(max(start + moment - self._clock(), 0.0)):
                return
            self.samples.append(self.take(start))

    def take(self, start: float) -> Sample:
        """Read every probe now."""
        values: dict[str, float] = {}
        at = self._clock() - start
        for probe in self._probes:
            values.update(probe.read())
        return Sample(at, values)

    def stop(self) -> None:
        """Make :meth:`run` return at once."""
        self._stopped.set()


class SamplerThread:
    """Runs a sampler beside the step it watches."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self._thread: threading.Thread | None = None

    def start(self, seconds: float) -> None:
        """Begin sampling now; a second call changes nothing."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self.sampler.run, args=(seconds,), name="sampler", daemon=True
            )
            self._thread.start()

    def finish(self) -> list[Sample]:
        """Stop and return what was sampled."""
        self.sampler.stop()
        if self._thread is not None:
            self._thread.join()
        return self.sampler.samples
