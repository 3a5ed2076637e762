"""How long the steps of a plan take: what their family expects, then what they were seen to take.

A step that measures for a time is foretold well. One that ends when its rows are done is not, until
it has run once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pipeline.model import Cell, Step
from pipeline.workloads import find_family
from pipeline.workloads.base import Measure

_Key = tuple[str, str, str]


class Expectation:
    """The time that the steps of some runs take, in seconds, warm-up included."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        """Expect the steps of the given cells; one that is run twice is given twice."""
        self._left: Counter[_Key] = Counter()
        self._seconds: dict[_Key, float] = {}
        for cell in cells:
            family = find_family(cell.workload.family)
            for action in family.actions(cell.workload):
                if isinstance(action, Measure):
                    key = _key(cell, action.step)
                    self._left[key] += 1
                    self._seconds[key] = family.timing(action, cell.workload).expected

    @property
    def left(self) -> float:
        """What is still to come."""
        return sum(count * self._seconds[key] for key, count in self._left.items())

    def again(self, cell: Cell) -> None:
        """Expect the steps of a cell once more: its run is repeated."""
        for action in find_family(cell.workload.family).actions(cell.workload):
            if isinstance(action, Measure):
                self._left[_key(cell, action.step)] += 1

    def over(self, cell: Cell, step: Step, took: float | None) -> None:
        """Expect a step once less, and what it took of the others; None says nothing of them."""
        key = _key(cell, step)
        self._left[key] -= 1
        if took is not None:
            self._seconds[key] = took


def _key(cell: Cell, step: Step) -> _Key:
    return cell.revision.target, cell.workload.hash, step.name
