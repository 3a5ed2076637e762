"""Types for counted steps: the instructions of an operation, in total and by function."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import Field

from pipeline.model.base import Frozen

LONGER = 3
"""The length of the longer counted run of a step, as a multiple of the shorter run's. The
difference between the instructions of the two runs is the cost of the additional operations."""

FLOOR = 0.0005
"""The largest relative difference (0.05 %) at which two instruction counts still count as equal.
Two measurements of one build differ by less, by 0.0001 % to 0.01 %."""

LEAST_SHARE = 0.001
"""The store keeps the series of a function only if the function itself executes at least this share
of a step's instructions. Some 25 to 180 functions of a step do; the bundle has all functions."""

INSTRUCTIONS = "instructions/o"
"""The main metric of counted series: instructions per operation."""

COUNTED_METRICS = (INSTRUCTIONS, "l1_misses/o", "ll_misses/o", "branch_misses/o")
"""The metrics of counted runs; all but the first need the cache simulation."""


class FunctionCost(Frozen):
    """The instructions of one function per operation.

    ``self_cost`` counts the function alone, ``inclusive_cost`` also the functions that it calls.
    ``binary`` is the file name of the program or library that holds the function.
    """

    function: str
    binary: str
    self_cost: float
    inclusive_cost: float


class CallCost(NamedTuple):
    """The instructions of one function's calls of another, per operation.

    ``caller`` and ``callee`` are indices into ``functions`` of the :class:`StepCounts`. ``cost``
    includes the functions that the callee calls in turn.
    """

    caller: int
    callee: int
    cost: float


class StepCounts(Frozen):
    """What one operation of a counted step costs: instructions in total and by function.

    The figures are the difference between two runs of the step, of ``operations[0]`` and
    ``operations[1]`` operations, divided by the difference in operations: start-up, connecting and
    disconnecting cancel. ``instructions`` serve the statements. ``waiting`` are executed to wait
    for the client; they depend on timing and belong to no operation. ``background`` are executed by
    the server's other processes and threads. ``outside`` are executed in binaries other than the
    DBMS's own, such as the C library, where the count depends on the state of the heap. ``misses``
    has further events of the cache simulation by metric, such as ``ll_misses/o``. ``functions`` are
    in descending order of their own cost, ``calls`` in descending order of the calls' cost.
    """

    operations: tuple[float, float]
    instructions: float = Field(allow_inf_nan=False)
    waiting: float = Field(default=0.0, allow_inf_nan=False)
    background: float = Field(default=0.0, allow_inf_nan=False)
    outside: float = Field(default=0.0, allow_inf_nan=False)
    misses: dict[str, float] = Field(default_factory=dict)
    functions: tuple[FunctionCost, ...] = ()
    calls: tuple[CallCost, ...] = ()

    @property
    def large_functions(self) -> tuple[FunctionCost, ...]:
        """The functions that themselves execute at least ``LEAST_SHARE`` of the instructions."""
        least = LEAST_SHARE * self.instructions
        return tuple(each for each in self.functions if each.self_cost >= least)


class FunctionCostChange(Frozen):
    """How much one function contributes to a change of instructions.

    ``before`` and ``after`` are its own instructions per operation. ``share`` is its part of the
    whole change, excluding cost that only moved between functions; it is negative if the function
    changed in the opposite direction.
    """

    function: str
    binary: str
    before: float
    after: float
    share: float
