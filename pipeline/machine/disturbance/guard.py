"""Watch for disturbances while a step is measured, and decide whether to repeat the step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from pipeline.machine.disturbance.base import (
    ClockReading,
    Disturbance,
    DisturbanceKind,
    Ending,
    Limits,
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
from pipeline.machine.disturbance.stopped import watch_stopped
from pipeline.machine.kernel_files import Tree
from pipeline.model import ProbeSample

WATCHES: Mapping[DisturbanceKind, Watch] = {
    DisturbanceKind.OTHERS: watch_others,
    DisturbanceKind.STEAL: watch_steal,
    DisturbanceKind.THROTTLING: watch_throttling,
    DisturbanceKind.CLOCK_RATE: watch_clock_rate,
    DisturbanceKind.TEMPERATURE: watch_temperature,
    DisturbanceKind.LINK: watch_link,
    DisturbanceKind.SWAPPING: watch_swapping,
    DisturbanceKind.OUT_OF_MEMORY: watch_out_of_memory,
    DisturbanceKind.STOPPED: watch_stopped,
    DisturbanceKind.MEMORY_ERRORS: watch_memory_errors,
    DisturbanceKind.CLOCK: watch_clock,
}
"""The watch for each kind, in the order of reports."""


class Guard:
    """Watches the steps of a measuring process for disturbances.

    A disturbance that recurs in every repetition of a step is a property of this machine tonight.
    From then on, a step with this kind of disturbance is marked and not repeated, until a step is
    free of it. A noisy machine thus costs one more run, not three times the night.
    """

    def __init__(
        self,
        limits: Limits,
        tree: Tree | None = None,
        clock: Callable[[], ClockReading] = moment,
    ) -> None:
        """Watch with these ``limits``, reading the kernel files of ``tree``."""
        self._limits = limits
        self._tree = tree or Tree()
        self._clock = clock
        self._stays: set[DisturbanceKind] = set()

    def watch(self, ours: Collection[int]) -> Watched:
        """Start to watch a step, before its load generator starts.

        ``ours`` are the processes whose descendants belong to the measurement.
        """
        scene = Scene(self._tree, self._limits, ours, self._clock)
        watches = WATCHES if self._limits.watch else {}
        return Watched({kind: watch(scene) for kind, watch in watches.items()}, self._passed)

    def repeats(self, found: Iterable[Disturbance], repeated: int) -> bool:
        """Return whether a disturbed step is to be measured again."""
        kinds = {each.kind for each in found}
        if repeated >= self._limits.repeat:
            if repeated:
                self._stays |= kinds
            return False
        return bool(kinds - self._stays)

    def _passed(self, found: Collection[Disturbance]) -> None:
        """Forget lasting kinds of disturbance that the latest step was free of."""
        self._stays &= {each.kind for each in found}


class Watched:
    """A step that is being watched for disturbances."""

    def __init__(
        self,
        endings: Mapping[DisturbanceKind, Ending],
        passed: Callable[[Collection[Disturbance]], None],
    ) -> None:
        self._endings, self._passed = endings, passed

    def over(self, samples: Sequence[ProbeSample] = ()) -> tuple[Disturbance, ...]:
        """Return what disturbed the step, which has ended; ``samples`` were taken during it."""
        reported = {kind: ending(samples) for kind, ending in self._endings.items()}
        found = tuple(Disturbance(kind, text) for kind, text in reported.items() if text)
        self._passed(found)
        return found
