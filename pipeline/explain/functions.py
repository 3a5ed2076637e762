"""Which functions use more CPU time per operation than before, from two CPU profiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pipeline.model import Frozen


class FunctionChange(Frozen):
    """The CPU cost of a function on both sides, alone and with all that it calls.

    The unit is microseconds of CPU time per operation, or percent of all samples if the cost of an
    operation is unknown.
    """

    name: str
    own_before: float
    own_after: float
    total_before: float
    total_after: float

    @property
    def gained(self) -> float:
        """How much more the function itself costs than before."""
        return self.own_after - self.own_before

    def sentence(self) -> str:
        """Describe the change as evidence: ``memcpy 0.1 -> 5.3 us by itself``."""
        return f"{self.name} {self.own_before:.3g} -> {self.own_after:.3g} us of its own"


def function_changes(
    before: Mapping[str, int],
    after: Mapping[str, int],
    cpu_before: float | None = None,
    cpu_after: float | None = None,
) -> tuple[FunctionChange, ...]:
    """Compare two CPU profiles; the largest increase comes first.

    ``cpu_before`` and ``cpu_after`` are the CPU time per operation (``cpu_us/o``). A function's
    cost is its share of the samples times that time. Shares alone would mislead: a program that
    does additional work has smaller shares of everything it did before, and none of those is an
    improvement.
    """
    whole = (100.0, 100.0)
    if cpu_before is not None and cpu_after is not None:
        whole = (cpu_before, cpu_after)
    own = [_scaled(_own(stacks), stacks, cost) for stacks, cost in _sides(before, after, whole)]
    total = [_scaled(_total(stacks), stacks, cost) for stacks, cost in _sides(before, after, whole)]
    changes = [
        FunctionChange(
            name=name,
            own_before=own[0].get(name, 0.0),
            own_after=own[1].get(name, 0.0),
            total_before=total[0].get(name, 0.0),
            total_after=total[1].get(name, 0.0),
        )
        for name in total[0].keys() | total[1].keys()
    ]
    return tuple(sorted(changes, key=lambda change: (-change.gained, change.name)))


def _sides(
    before: Mapping[str, int], after: Mapping[str, int], whole: tuple[float, float]
) -> tuple[tuple[Mapping[str, int], float], ...]:
    return (before, whole[0]), (after, whole[1])


def _scaled(counts: Counter[str], stacks: Mapping[str, int], cost: float) -> dict[str, float]:
    samples = sum(stacks.values())
    return {name: count * cost / samples for name, count in counts.items()}


def _own(stacks: Mapping[str, int]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for stack, samples in stacks.items():
        counts[_frames(stack)[-1]] += samples
    return counts


def _total(stacks: Mapping[str, int]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for stack, samples in stacks.items():
        # Count a function once per stack, so that recursion does not multiply its cost.
        for name in set(_frames(stack)):
            counts[name] += samples
    return counts


def _frames(stack: str) -> list[str]:
    """Return the functions of a call stack, without the name of the thread.

    Thread names contain parts that differ between runs, such as a client's name.
    """
    thread, *functions = stack.split(";")
    return functions or [thread]
