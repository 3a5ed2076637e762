"""How the instructions of a step changed, as stored in an explanation."""

from __future__ import annotations

from pipeline.explain.call_tree import CallFrame
from pipeline.model import Frozen, FunctionCostChange
from pipeline.model.counts import FLOOR


class CountedChange(Frozen):
    """The instructions of a step on both sides, and the functions that the change comes from.

    ``slower`` says whether the same step became slower in time; None if its time is not watched.
    ``calls`` is the call tree of both sides, empty for bundles without calls.
    """

    before: float
    after: float
    sentence: str
    functions: tuple[FunctionCostChange, ...]
    slower: bool | None
    calls: tuple[CallFrame, ...] = ()

    @property
    def effect(self) -> float:
        """The relative change of instructions per operation."""
        return self.after / self.before - 1.0

    @property
    def equal(self) -> bool:
        """Whether both sides execute equally many instructions per operation."""
        return abs(self.effect) <= FLOOR
