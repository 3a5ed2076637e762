"""The guard of a night: what disturbed a step, and whether it is worth to measure it again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from pipeline.machine.disturbance.base import (
    Disturbance,
    Ending,
    Kind,
    Limits,
    Moment,
    Scene,
    Watch,
)
from pipeline.machine.disturbance.clock import moment, watch_clock
from pipeline.machine.disturbance.disk import watch_link, watch_temperature
from pipeline.machine.disturbance.memory import (
    watch_memory_errors,
    watch_out_of_memory,
    watch_swapping,
)
from pipeline.machine.disturbance.others import watch_others
from pipeline.machine.disturbance.processors import (
    watch_clock_rate,
    watch_steal,
    watch_throttling,
)
from pipeline.machine.tree import Tree
from pipeline.model import Sample

WATCHES: Mapping[Kind, Watch] = {
    Kind.OTHERS: watch_others,
    Kind.STEAL: watch_steal,
    Kind.THROTTLING: watch_throttling,
    Kind.CLOCK_RATE: watch_clock_rate,
    Kind.TEMPERATURE: watch_temperature,
    Kind.LINK: watch_link,
    Kind.SWAPPING: watch_swapping,
    Kind.OUT_OF_MEMORY: watch_out_of_memory,
    Kind.MEMORY_ERRORS: watch_memory_errors,
    Kind.CLOCK: watch_clock,
}
"""The watch for each kind, in the order in which they are told."""


class Guard:
    """Watches the steps that are measured on this machine, as long as one process measures.

    What is measured again, and disturbed again every time, is disturbed by what this machine is
    like tonight. From then on that kind is marked and not repeated, until a step was without it: a
    noisy machine costs one run more, and not three times the night.
    """

    def __init__(
        self,
        limits: Limits,
        tree: Tree | None = None,
        clock: Callable[[], Moment] = moment,
    ) -> None:
        """Watch by ``limits`` through the files of ``tree``, by default this machine's."""
        self._limits = limits
        self._tree = tree or Tree()
        self._clock = clock
        self._stays: set[Kind] = set()

    def watch(self, ours: Collection[int]) -> Watched:
        """Begin to watch a step, before its load generator is started.

        ``ours`` are the processes below which everything belongs to the measurement.
        """
        scene = Scene(self._tree, self._limits, ours, self._clock)
        watches = WATCHES if self._limits.watch else {}
        return Watched({kind: watch(scene) for kind, watch in watches.items()}, self._passed)

    def repeats(self, found: Iterable[Disturbance], repeated: int) -> bool:
        """Say whether to measure again what was disturbed, and has been repeated so often."""
        kinds = {each.kind for each in found}
        if repeated >= self._limits.repeat:
            if repeated:
                self._stays |= kinds
            return False
        return bool(kinds - self._stays)

    def _passed(self, found: Collection[Disturbance]) -> None:
        """Take note of what a step had: what it was without does not stay."""
        self._stays &= {each.kind for each in found}


class Watched:
    """A step that is being watched."""

    def __init__(
        self,
        endings: Mapping[Kind, Ending],
        passed: Callable[[Collection[Disturbance]], None],
    ) -> None:
        self._endings, self._passed = endings, passed

    def over(self, samples: Sequence[Sample] = ()) -> tuple[Disturbance, ...]:
        """Return what disturbed the step, now that it has ended; ``samples`` are its own."""
        told = {kind: ending(samples) for kind, ending in self._endings.items()}
        found = tuple(Disturbance(kind, text) for kind, text in told.items() if text)
        self._passed(found)
        return found
