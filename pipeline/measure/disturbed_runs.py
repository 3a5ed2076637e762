"""Decide which disturbed runs of a night are repeated at its end: the worst, within its budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline.machine.disturbance.guard import RepeatBudget
from pipeline.model import Cell
from pipeline.storage.bundle import read_manifest
from pipeline.text.units import plural

Number = Callable[[Cell], int | None]
"""Returns the number of a cell's next run; None if the cell was measured often enough."""


class _DisturbedRun(NamedTuple):
    """A disturbed run: how bad its worst step was, its cell, and how long it took in seconds."""

    severity: float
    cell: Cell
    seconds: float


class DisturbedRuns:
    """The runs of a night so far, and those that something disturbed."""

    def __init__(self, budget: RepeatBudget | None, patience: int) -> None:
        """Begin a night; without a ``budget`` nothing is repeated.

        After ``patience`` repetitions that were disturbed, too, the machine is noisy tonight, and
        no further run is repeated.
        """
        self._budget, self._patience = budget, patience
        self._disturbed: list[_DisturbedRun] = []
        self._kinds: Counter[str] = Counter()
        self._runs = self._marked = self._repeated = 0

    def add(self, cell: Cell, path: Path, *, again: bool = False) -> None:
        """Count a run by its bundle; ``again`` says that it repeats another one."""
        manifest = read_manifest(path)
        seconds = (manifest.ended_at - manifest.started_at).total_seconds()
        severity = max((step.severity for step in manifest.steps), default=0.0)
        self._runs += 1
        self._repeated += again
        if self._budget is not None:
            # The steps were counted as they ended.
            counted = sum(step.wall_seconds for step in manifest.steps)
            repeated = sum(step.wall_seconds for step in manifest.repeated)
            self._budget.measured(-counted if again else max(0.0, seconds - counted - repeated))
        if again:
            self._patience = self._patience - 1 if severity else self._patience
        if severity:
            self._marked += 1
            self._kinds.update({kind for step in manifest.steps for kind in step.disturbed})
            if cell.control is None and not again:
                self._disturbed.append(_DisturbedRun(severity, cell, seconds))

    def worst_first(self, number: Number) -> Iterator[tuple[Cell, int]]:
        """Yield the runs that repeat a disturbed one, worst first, while the budget lasts."""
        for run in sorted(self._disturbed, key=lambda run: -run.severity):
            again = number(run.cell) if self._patience > 0 else None
            if again is None or self._budget is None or not self._budget.spend(run.seconds):
                continue
            yield run.cell, again

    def summary(self) -> str:
        """Return in one line how many runs were disturbed and by what; empty if none was."""
        if not self._marked:
            return ""
        worst_first = sorted(self._kinds.items(), key=lambda found: (-found[1], found[0]))
        kinds = ", ".join(f"{kind} {count}" for kind, count in worst_first)
        repeated = f"; {plural(self._repeated, 'run')} repeated" if self._repeated else ""
        return (
            f"{self._marked} of {plural(self._runs, 'run')} "
            f"{'was' if self._marked == 1 else 'were'} disturbed ({kinds}){repeated}; details: "
            "`nightshift report`"
        )
