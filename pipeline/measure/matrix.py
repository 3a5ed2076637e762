"""Divide the remaining runs of a plan into jobs for other machines, as a GitHub matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pipeline.measure.expected_time import Expectation
from pipeline.model import Cell, Frozen
from pipeline.text.units import plural

MOST_JOBS = 256
"""Maximum number of jobs in a matrix of GitHub Actions."""

KEY = 16
"""Digits of a cell's key that identify it to :func:`chosen`; they are unique within a plan."""


class Job(Frozen):
    """Cells for one machine to measure in one go, each with all of its repetitions.

    ``cells`` has the beginnings of their keys, separated by spaces. ``runner`` has the labels of
    the machine's runner. ``seconds`` is the expected duration of the steps.
    """

    id: str
    name: str
    machine_class: str
    runner: tuple[str, ...]
    cells: str
    seconds: int


def jobs_of(
    remaining: Sequence[tuple[Cell, int]],
    runners: Mapping[str, tuple[str, ...]],
    most: int = MOST_JOBS,
    limits: Mapping[str, int] = MappingProxyType({}),
) -> list[Job]:
    """Divide the remaining runs into jobs: one for each cell, or for several if there are many.

    Cells are grouped if there are more than ``most``, or more of a machine class than its limit in
    ``limits``. A group has cells of one machine class and, as far as possible, of one build.
    ``runners`` has the labels of the runners by machine class. The jobs of each class come in the
    order of the plan.
    """
    runs: dict[str, list[Cell]] = {}
    for cell, _ in remaining:
        runs.setdefault(cell.key, []).append(cell)
    classes: dict[str, dict[str, Cell]] = {}
    for key, (cell, *_) in runs.items():
        classes.setdefault(cell.machine_class, {})[key] = cell
    if not classes:
        return []
    groups = {
        name: sorted(cells.items(), key=lambda found: _build(found[1]))
        for name, cells in classes.items()
    }
    size = 1
    while sum(-(-len(group) // size) for group in groups.values()) > most and size < max(
        map(len, groups.values())
    ):
        size += 1
    jobs = []
    for machine_class, group in groups.items():
        own = max(size, -(-len(group) // limits.get(machine_class, most)))
        batches = [group[start : start + own] for start in range(0, len(group), own)]
        for number, batch in enumerate(batches, 1):
            expected = Expectation(cell for key, _ in batch for cell in runs[key])
            jobs.append(
                Job(
                    id=f"{machine_class}-{number:03}",
                    name=_name([cell for _, cell in batch]),
                    machine_class=machine_class,
                    runner=runners.get(machine_class, ("self-hosted", machine_class)),
                    cells=" ".join(key[:KEY] for key, _ in batch),
                    seconds=round(expected.left),
                )
            )
    return jobs


def chosen(remaining: Sequence[tuple[Cell, int]], keys: Sequence[str]) -> list[tuple[Cell, int]]:
    """Return the runs of those cells whose keys begin with one of ``keys``."""
    return [(cell, n) for cell, n in remaining if cell.key.startswith(tuple(keys))]


def _build(cell: Cell) -> tuple[str, tuple[int, ...], str]:
    return cell.revision.target, cell.revision.order, cell.build_options


def _name(batch: Sequence[Cell]) -> str:
    first = batch[0]
    name = f"{first.revision.target} {first.revision.label} {first.config.name}"
    more = len(batch) - 1
    return f"{name} and {plural(more, 'more cell')}" if more else f"{name} {first.workload.name}"
