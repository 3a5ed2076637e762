"""What is left of a plan, as jobs for machines elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pipeline.execute.expect import Expectation
from pipeline.model import Cell, Frozen
from pipeline.units import counted

MOST_JOBS = 256
"""Jobs that a matrix of GitHub Actions may have."""

KEY = 16
"""Digits of a cell's key that name it to :func:`chosen`: no two cells of a plan share them."""


class Job(Frozen):
    """Cells that one machine measures in one go, each with all its repetitions.

    ``cells`` are the beginnings of their keys, parted by spaces; ``runner`` the labels of the
    machine's runner; ``seconds`` those that the steps are expected to take.
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
    """Return the jobs that measure what remains of a plan: a cell each, as long as these are few.

    Where they are more than ``most``, or those of a class more than its own of the ``limits``,
    cells go together: those of one class of machines, and of one build where that can be.
    ``runners`` are the labels of the runners by machine class; the jobs of each class come in the
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
    """Return the runs of the cells whose keys begin with one of ``keys``."""
    return [(cell, n) for cell, n in remaining if cell.key.startswith(tuple(keys))]


def _build(cell: Cell) -> tuple[str, tuple[int, ...], str]:
    return cell.revision.target, cell.revision.order, cell.build_options


def _name(batch: Sequence[Cell]) -> str:
    first = batch[0]
    said = f"{first.revision.target} {first.revision.label} {first.config.name}"
    more = len(batch) - 1
    return f"{said} and {counted(more, 'more cell')}" if more else f"{said} {first.workload.name}"
