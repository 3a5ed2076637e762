"""Compute the instructions of one operation, from counts of a step at two lengths.

A length is a number of operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pipeline.model import CallCost, FunctionCost, StepCounts
from pipeline.profiles.callgrind import INSTRUCTIONS, Call, CallgrindProfile, FunctionKey
from pipeline.targets.base import Counting

MISSES: Mapping[str, tuple[str, ...]] = {
    "l1_misses/o": ("I1mr", "D1mr", "D1mw"),
    "ll_misses/o": ("ILmr", "DLmr", "DLmw"),
    "branch_misses/o": ("Bcm", "Bim"),
}
"""Metrics of the cache and branch simulation, and the events of callgrind that they sum."""

LEAST_COST = 1e-5
"""The smallest own or inclusive cost of a function that is kept, as a share of the instructions
that serve statements."""

LEAST_CALL = 1e-3
"""The smallest cost of the calls from one function to another that is kept, as a share of the
instructions that serve statements."""

MOST_CALLS = 1000
"""Maximum number of pairs of caller and callee that are kept, the most expensive first. A statement
of Postgres has some 500 above the smallest share."""


class CountError(Exception):
    """The instructions of a step could not be counted; the text says why in one line."""


class CountedLength(NamedTuple):
    """A run of a step at one length (number of operations), with the counts of each process."""

    operations: float
    profiles: Sequence[CallgrindProfile]


class _Sums(NamedTuple):
    """The summed counts of a run: instructions, cache events, and costs by function and call."""

    serving: float
    waiting: float
    background: float
    outside: float
    events: Mapping[str, float]
    own: Mapping[FunctionKey, float]
    inclusive: Mapping[FunctionKey, float]
    calls: Mapping[Call, float]


def per_operation(shorter: CountedLength, longer: CountedLength, counting: Counting) -> StepCounts:
    """Return what one operation costs, from runs of a step at two lengths.

    The cost is the difference between the counts, divided by the difference in operations. Raises
    CountError if no process served the statements, and if the runs do not differ.
    """
    operations = longer.operations - shorter.operations
    if operations <= 0:
        raise CountError(
            "instructions cannot be counted: the longer of two runs did no more operations than "
            "the shorter"
        )
    less, more = (_sums(each.profiles, counting) for each in (shorter, longer))
    whole = (more.serving - less.serving) / operations
    if whole <= 0:
        raise CountError(
            "instructions cannot be counted: the longer of two runs executed no more "
            "instructions than the shorter"
        )

    def cost(of: str, key: FunctionKey) -> float:
        before: Mapping[FunctionKey, float] = getattr(less, of)
        after: Mapping[FunctionKey, float] = getattr(more, of)
        return (after.get(key, 0.0) - before.get(key, 0.0)) / operations

    functions = [
        FunctionCost(
            function=key.function,
            binary=key.binary,
            self_cost=cost("own", key),
            inclusive_cost=min(cost("inclusive", key), whole),
        )
        for key in {*less.inclusive, *more.inclusive}
    ]
    kept = [
        each
        for each in functions
        if max(abs(each.self_cost), abs(each.inclusive_cost)) >= LEAST_COST * whole
    ]
    ordered = tuple(sorted(kept, key=lambda each: (-each.self_cost, each.function)))
    return StepCounts(
        operations=(shorter.operations, longer.operations),
        instructions=whole,
        waiting=(more.waiting - less.waiting) / operations,
        background=(more.background - less.background) / operations,
        outside=(more.outside - less.outside) / operations,
        misses={
            metric: (more.events[metric] - less.events[metric]) / operations
            for metric in more.events
        },
        functions=ordered,
        calls=tuple(_calls(less, more, operations, ordered, LEAST_CALL * whole)),
    )


def _calls(
    less: _Sums, more: _Sums, operations: float, functions: Sequence[FunctionCost], least: float
) -> list[CallCost]:
    """Return what calls between functions cost per operation, the most expensive first."""
    place = {FunctionKey(each.function, each.binary): at for at, each in enumerate(functions)}
    found = []
    for call, cost in more.calls.items():
        per_operation_cost = (cost - less.calls.get(call, 0.0)) / operations
        if per_operation_cost >= least and place.keys() >= set(call):
            caller, callee = call
            found.append(CallCost(place[caller], place[callee], per_operation_cost))
    return sorted(found, key=lambda call: (-call.cost, *call))[:MOST_CALLS]


def serves(profile: CallgrindProfile, counting: Counting) -> bool:
    """Return whether a process or thread executed statements of a client."""
    if not counting.entries:
        return True
    return any(_named(key.function, counting.entries) for key in profile.costs)


def _named(function: str, names: Iterable[str]) -> bool:
    """Return whether a function has one of these names; parameters are ignored."""
    return function.partition("(")[0] in names


def _sums(profiles: Sequence[CallgrindProfile], counting: Counting) -> _Sums:
    serving = [profile for profile in profiles if serves(profile, counting)]
    if not serving:
        raise CountError(
            "none of the counted processes served a statement "
            f"({', '.join(counting.entries)} did not run)"
        )
    own: dict[FunctionKey, float] = {}
    inclusive: dict[FunctionKey, float] = {}
    calls: dict[Call, float] = {}
    total = waiting = outside = 0.0
    events = dict.fromkeys(_simulated(serving[0]), 0.0)
    for profile in serving:
        at = profile.events.index(INSTRUCTIONS)
        simulated = {
            metric: [profile.events.index(name) for name in MISSES[metric]] for metric in events
        }
        for key, costs in profile.costs.items():
            if counting.binaries and not key.binary.startswith(counting.binaries):
                outside += costs.own[at]
                continue
            if _named(key.function, counting.waiting):
                waiting += costs.own[at]
                continue
            total += costs.own[at]
            own[key] = own.get(key, 0.0) + costs.own[at]
            whole = costs.own[at] + costs.called[at]
            inclusive[key] = inclusive.get(key, 0.0) + whole
            for metric, places in simulated.items():
                events[metric] += sum(costs.own[place] for place in places)
        for call, costs_of_call in profile.calls.items():
            calls[call] = calls.get(call, 0.0) + costs_of_call[at]
    others = (profile for profile in profiles if not serves(profile, counting))
    background = sum(
        costs.own[profile.events.index(INSTRUCTIONS)]
        for profile in others
        for costs in profile.costs.values()
    )
    return _Sums(total, waiting, background, outside, events, own, inclusive, calls)


def _simulated(profile: CallgrindProfile) -> list[str]:
    return [metric for metric, names in MISSES.items() if set(names) <= set(profile.events)]
