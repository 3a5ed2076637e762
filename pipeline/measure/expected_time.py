"""Estimate how long the steps of a plan will take, from the workload or the last duration seen.

The estimate is good for a step of fixed duration. A step that ends when its rows are processed has
no good estimate until it has run once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pipeline.model import Cell, Step
from pipeline.workloads import find_family
from pipeline.workloads.base import Measure

_Key = tuple[str, str, str]


class Expectation:
    """The expected duration of the remaining steps, in seconds, with their warm-ups."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        """Expect the steps of ``cells``, which has every cell once for each of its runs."""
        self._left: Counter[_Key] = Counter()
        self._seconds: dict[_Key, float] = {}
        # Thousands of revisions share a few workloads.
        alike: dict[tuple[str, str], Cell] = {}
        runs: Counter[tuple[str, str]] = Counter()
        for cell in cells:
            setup = (cell.revision.target, cell.workload.hash)
            alike.setdefault(setup, cell)
            runs[setup] += 1
        for setup, cell in alike.items():
            family = find_family(cell.workload.family)
            for action in family.actions(cell.workload):
                if isinstance(action, Measure):
                    key = _key(cell, action.step)
                    self._left[key] += runs[setup]
                    self._seconds[key] = family.timing(action, cell.workload).expected

    @property
    def left(self) -> float:
        """The expected seconds of all steps that have not ended."""
        return sum(count * self._seconds[key] for key, count in self._left.items())

    def again(self, cell: Cell) -> None:
        """Expect the steps of a cell once more, because its run must be repeated."""
        for action in find_family(cell.workload.family).actions(cell.workload):
            if isinstance(action, Measure):
                self._left[_key(cell, action.step)] += 1

    def over(self, cell: Cell, step: Step, took: float | None) -> None:
        """Remove a step that has ended, and expect ``took`` seconds of equal steps from now on."""
        key = _key(cell, step)
        self._left[key] -= 1
        if took is not None:
            self._seconds[key] = took


def _key(cell: Cell, step: Step) -> _Key:
    return cell.revision.target, cell.workload.hash, step.name
