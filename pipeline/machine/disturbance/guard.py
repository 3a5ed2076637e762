"""Watch for disturbances while a step is measured, and decide whether to repeat the step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from pipeline.machine.disturbance.base import (
    ClockReading,
    Disturbance,
    DisturbanceKind,
    Ending,
    Limits,
    Scene,
    ShareEnding,
    ShareWatch,
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

SHARES: Mapping[DisturbanceKind, ShareWatch] = {
    DisturbanceKind.OTHERS: watch_others,
    DisturbanceKind.STEAL: watch_steal,
}
"""The watch for each kind that is a share of time, in the order of reports."""

WATCHES: Mapping[DisturbanceKind, Watch] = {
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
"""The watch for each other kind, in the order of reports."""


class RepeatBudget:
    """The time that a night may spend on repeating: a share of the time that it has measured."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._measured = self._repeated = 0.0

    def measured(self, seconds: float) -> None:
        """Count time that is no repetition."""
        self._measured += seconds

    def spend(self, seconds: float) -> bool:
        """Take so much time for a repetition, if it is left; return whether it was."""
        allowed = self._repeated + seconds <= self._share * self._measured
        if allowed:
            self._repeated += seconds
        return allowed


class Guard:
    """Watches the steps of a measuring process for disturbances.

    A disturbance that recurs in every repetition of a step is a property of this machine tonight.
    From then on, a step with this kind of disturbance is marked and not repeated, until a step is
    free of it. A noisy machine thus costs one more run, not three times the night.

    A night has a ``budget``: a step is repeated at once only if the budget allows it, and the worst
    runs are repeated at the end of the night. Without a budget, as in experiments, a disturbed run
    is repeated at once.
    """

    def __init__(
        self,
        limits: Limits,
        tree: Tree | None = None,
        clock: Callable[[], ClockReading] = moment,
        usual: Mapping[DisturbanceKind, float] = MappingProxyType({}),
        budget: RepeatBudget | None = None,
    ) -> None:
        """Watch with these ``limits``, reading the kernel files of ``tree``.

        ``usual`` are the base rates of the machine, by kind: the limits count from there.
        """
        self._limits = limits
        self._tree = tree or Tree()
        self._clock = clock
        self._stays: set[DisturbanceKind] = set()
        self._within = {
            DisturbanceKind.OTHERS: limits.others + usual.get(DisturbanceKind.OTHERS, 0.0),
            DisturbanceKind.STEAL: limits.steal + usual.get(DisturbanceKind.STEAL, 0.0),
        }
        self.budget = budget

    @property
    def repeat(self) -> int:
        """How often a disturbed step or run is repeated at most."""
        return self._limits.repeat

    def watch(self, ours: Collection[int], serving: Collection[int] = ()) -> Watched:
        """Start to watch a step, before its load generator starts.

        ``ours`` are the processes whose descendants belong to the measurement, ``serving`` the
        processors that serve; none if nothing is pinned.
        """
        scene = Scene(self._tree, self._limits, ours, self._clock, serving)
        watches = WATCHES if self._limits.watch else {}
        shares = SHARES if self._limits.watch else {}
        return Watched(
            {kind: watch(scene) for kind, watch in shares.items()},
            {kind: watch(scene) for kind, watch in watches.items()},
            self._within,
            self._passed,
        )

    def repeats(self, found: Iterable[Disturbance], repeated: int, seconds: float = 0.0) -> bool:
        """Return whether a disturbed step is to be measured again, which takes some ``seconds``."""
        worth = self._is_worth_it(found, repeated)
        return worth and (self.budget is None or self.budget.spend(seconds))

    def repeats_run(
        self, found: Iterable[Disturbance], repeated: int, *, failed: bool = False
    ) -> bool:
        """Return whether a disturbed run is to be repeated at once.

        A night does so only if a step ``failed``, because a disturbance may have been the reason.
        """
        return (failed or self.budget is None) and self._is_worth_it(found, repeated)

    def _is_worth_it(self, found: Iterable[Disturbance], repeated: int) -> bool:
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
    """A step that is being watched for disturbances.

    ``taken`` are the shares of a core's time by kind, disturbing or not, once the step is over.
    """

    def __init__(
        self,
        shares: Mapping[DisturbanceKind, ShareEnding],
        endings: Mapping[DisturbanceKind, Ending],
        limits: Mapping[DisturbanceKind, float],
        passed: Callable[[Collection[Disturbance]], None],
    ) -> None:
        self._shares, self._endings = shares, endings
        self._limits, self._passed = limits, passed
        self.taken: dict[DisturbanceKind, float] = {}

    def over(self, samples: Sequence[ProbeSample] = ()) -> tuple[Disturbance, ...]:
        """Return what disturbed the step, which has ended; ``samples`` were taken during it."""
        found = []
        for kind, share_ending in self._shares.items():
            taken = share_ending(samples)
            if taken is not None:
                self.taken[kind] = taken.share
                if taken.share > self._limits[kind]:
                    found.append(Disturbance(kind, taken.reported))
        reported = {kind: ending(samples) for kind, ending in self._endings.items()}
        found += [Disturbance(kind, text) for kind, text in reported.items() if text]
        self._passed(found)
        return tuple(found)
