"""The differential profile: which functions cost more of each operation than before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pipeline.model import Frozen


class FunctionChange(Frozen):
    """What a function costs on both sides: by itself, and with all that it calls.

    In microseconds of CPU time per operation, or in percent of all samples where it is not known
    what an operation costs.
    """

    name: str
    own_before: float
    own_after: float
    total_before: float
    total_after: float

    @property
    def gained(self) -> float:
        """What it costs more by itself."""
        return self.own_after - self.own_before

    def sentence(self) -> str:
        """Write it as evidence, where it is in time: ``memcpy 0.1 -> 5.3 us by itself``."""
        return f"{self.name} {self.own_before:.3g} -> {self.own_after:.3g} us by itself"


def function_changes(
    before: Mapping[str, int],
    after: Mapping[str, int],
    cpu_before: float | None = None,
    cpu_after: float | None = None,
) -> tuple[FunctionChange, ...]:
    """Compare two profiles, both with samples, as folded stacks; what gained most comes first.

    ``cpu_before`` and ``cpu_after`` are the CPU time of an operation (``cpu_us/o``). A share of
    the samples is that share of it: a program that does the same work as before, and more, has
    smaller shares of all that it did before, and none of those is an improvement.
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


def merged(profiles: Sequence[Mapping[str, int]]) -> Counter[str]:
    """Add the stacks of several runs."""
    together: Counter[str] = Counter()
    for stacks in profiles:
        together.update(stacks)
    return together


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
        # Once for each stack: a function that calls itself is no dearer for it.
        for name in set(_frames(stack)):
            counts[name] += samples
    return counts


def _frames(stack: str) -> list[str]:
    """Return the functions of a stack without the name of its thread, unless it is all there is.

    Names of threads hold what differs from run to run, as that of a client.
    """
    thread, *functions = stack.split(";")
    return functions or [thread]
