"""Choose the processors for a cell: those that its workload names, or as its work requires."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pipeline.machine.pinning import ConcurrentWork, available, choose, pinned, show_pinning
from pipeline.machine.tasks import Task, separate
from pipeline.machine.topology import Core, read_cores
from pipeline.model import Cell, Mode, Pinning, SampledField
from pipeline.targets import find_target
from pipeline.text.errors import UserError
from pipeline.workloads import find_family


def work_of(cell: Cell) -> ConcurrentWork:
    """Return what runs at once in a cell, for the largest number of clients of its workload."""
    workload = cell.workload
    clients = workload.placed_for or workload.scale.clients
    most = workload.model_copy(
        update={"scale": workload.scale.model_copy(update={"clients": clients})}
    )
    target = find_target(cell.revision.target)
    return ConcurrentWork(
        connections=find_family(workload.family).connections(most),
        background=target.background(cell.config, cell.revision.major),
        embedded=target.embedded,
    )


def placement(cell: Cell, cores: Sequence[Core]) -> Pinning:
    """Return the processors for a cell; an empty placement if nothing is pinned.

    A counted cell is placed as if it had one connection, because counts do not depend on the
    placement. Raises UserError for a workload that names processors which are not among these
    cores.
    """
    workload = cell.workload
    if workload.pin:
        try:
            return pinned(workload.pin, [each for core in cores for each in core.processors])
        except ValueError as error:
            raise UserError(f"workload {workload.name}: {error}") from error
    if workload.mode is Mode.COUNT:
        return choose(ConcurrentWork(connections=1), cores)
    return choose(work_of(cell), cores) if workload.placed_for else Pinning()


def show_placements(cells: Iterable[Cell], cores: Sequence[Core]) -> list[str]:
    """Return the placements of timed cells in words, one for each workload and DBMS.

    A workload has the same placement for all its numbers of clients.
    """
    shown: dict[str, None] = {}
    for cell in cells:
        if cell.workload.mode is Mode.TIME and not cell.imported:
            where = show_pinning(placement(cell, cores))
            shown[f"{cell.workload.name} on {cell.revision.target}: {where}"] = None
    return list(shown)


def cores_here(usable: Sequence[int] = ()) -> tuple[Core, ...]:
    """Return the cores that this process may use."""
    return read_cores(usable or available())


class TaskSeparation:
    """Keeps the background work of a running DBMS off the processors that serve clients.

    A probe without fields: tasks are separated when the measured part of a step begins, and again
    every second, because servers start further tasks.
    """

    fields: tuple[SampledField, ...] = ()

    def __init__(self, pid: int, serves: Callable[[Task], bool | None], pinning: Pinning) -> None:
        """Separate the tasks of the process ``pid`` and its descendants."""
        self._pid, self._serves, self._pinning = pid, serves, pinning

    def read(self) -> dict[str, float]:
        """Give every task the processors of its kind."""
        separate(self._pid, self._serves, self._pinning.server, self._pinning.background)
        return {}
