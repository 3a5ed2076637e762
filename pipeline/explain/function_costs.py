"""Which functions cause a change of counted instructions.

docs/guide/explaining.md describes the filter for cost that only moved between functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.model import FunctionCost, FunctionCostChange, StepCounts
from pipeline.model.counts import FLOOR

MOST_FUNCTIONS = 20
"""Maximum number of functions in a comparison: those with the largest part of the change."""

NAMED = 3
"""Maximum number of functions that a sentence names."""

LEAST_PART = 0.05
"""The smallest part of the whole change for which a sentence names a function."""

STILL = 0.5
"""Cost counts as moved between a function and its callees if the function's inclusive cost changes
by at most this share of the change of its own cost."""

GONE = 0.01
"""A function counts as renamed, inlined or split off if at most this share of its cost remains on
one side."""

_MOST_MATCHED = 200
"""Maximum number of gains, and of losses, that are searched for moved cost: the largest ones."""

_CLONE = re.compile(r"\.(isra|part|constprop|cold|lto_priv)(\.\d+)*")
"""What compilers append to the names of parts and copies of a function."""

_VERSION = re.compile(r"[\d.-]+$")
"""The version at the end of the name of a library."""


@dataclass
class _Own:
    """The instructions of a function on both sides, and its change without moved cost."""

    function: str
    binary: str
    before: float = 0.0
    after: float = 0.0
    inclusive: float = 0.0
    net: float = 0.0

    @property
    def moved(self) -> bool:
        """Whether cost may have moved between this function and another one."""
        change = self.after - self.before
        either = min(self.before, self.after) <= GONE * max(self.before, self.after)
        return either or abs(self.inclusive) <= STILL * abs(change)


def function_cost_changes(before: StepCounts, after: StepCounts) -> tuple[FunctionCostChange, ...]:
    """Return the functions that a change of instructions comes from, largest first.

    Cost that only moved, because a function was split, renamed or inlined, is netted out. The
    result is empty if the total changes by no more than the share ``FLOOR``.
    """
    whole = after.instructions - before.instructions
    if abs(whole) <= FLOOR * before.instructions:
        return ()
    functions = _both(before.functions, after.functions)
    _net_moved(functions)
    least = FLOOR * abs(whole)
    changes = [
        FunctionCostChange(
            function=each.function,
            binary=each.binary,
            before=each.before,
            after=each.after,
            share=each.net / whole,
        )
        for each in functions
        if abs(each.net) > least
    ]
    changes.sort(key=lambda each: (-each.share, each.function))
    return tuple(changes[:MOST_FUNCTIONS])


def instructions_sentence(
    unit: str, before: StepCounts, after: StepCounts, changes: Iterable[FunctionCostChange]
) -> str:
    """Describe a change: ``+43.7 % instructions per row: heap_getnextslot +31.2, ...``."""
    effect = after.instructions / before.instructions - 1.0
    singular = {"queries": "query"}.get(unit, unit.removesuffix("s"))
    return growth_sentence(f"instructions per {singular or 'operation'}", effect, changes)


def growth_sentence(what: str, effect: float, changes: Iterable[FunctionCostChange]) -> str:
    """Describe a change in percent, with the functions that contribute most."""
    percent = 100.0 * effect
    reported = [each for each in changes if each.share >= LEAST_PART][:NAMED]
    named = ", ".join(f"{each.function} {each.share * percent:+.3g}" for each in reported)
    sentence = f"{percent:+.3g} % {what}"
    return f"{sentence}: {named}" if named else sentence


def _both(before: Iterable[FunctionCost], after: Iterable[FunctionCost]) -> list[_Own]:
    """Match the functions of both sides; compiler clones count as the function itself."""
    found: dict[tuple[str, str], _Own] = {}
    for costs, sign in ((before, -1.0), (after, 1.0)):
        for cost in costs:
            name = _CLONE.sub("", cost.function)
            key = name, _VERSION.sub("", cost.binary)
            one = found.setdefault(key, _Own(name, cost.binary))
            if sign < 0:
                one.before += cost.self_cost
            else:
                one.after += cost.self_cost
            one.inclusive += sign * cost.inclusive_cost
            one.net += sign * cost.self_cost
    return list(found.values())


def _net_moved(functions: Iterable[_Own]) -> None:
    """Cancel losses against gains of about the same size: that code only moved."""
    suspects = sorted((each for each in functions if each.moved), key=lambda each: -abs(each.net))
    gains = [each for each in suspects if each.net > 0.0][:_MOST_MATCHED]
    losses = [each for each in suspects if each.net < 0.0][:_MOST_MATCHED]
    while gains and losses:
        gain, loss = min(
            ((gain, loss) for gain in gains for loss in losses),
            key=lambda pair: abs(pair[0].net + pair[1].net) / max(pair[0].net, -pair[1].net),
        )
        amount = min(gain.net, -loss.net)
        gain.net -= amount
        loss.net += amount
        if gain.net <= 0.0:
            gains.remove(gain)
        if loss.net >= 0.0:
            losses.remove(loss)
