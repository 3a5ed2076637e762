"""The cores of a machine: their processors (SMT siblings), and the NUMA node of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pipeline.machine.fingerprint import processors
from pipeline.machine.kernel_files import Tree


class Core(NamedTuple):
    """A physical core: the processors on it, which are its SMT siblings, and its NUMA node."""

    processors: tuple[int, ...]
    node: int = 0


def read_cores(usable: Iterable[int], tree: Tree | None = None) -> tuple[Core, ...]:
    """Return the physical cores of the usable processors, ordered by their first processor.

    A processor without a known topology counts as a core of its own, on node 0.
    """
    tree = tree or Tree()
    allowed = frozenset(usable)
    nodes = {
        processor: int(path.rpartition("/node")[2])
        for path in tree.glob("/sys/devices/system/node/node[0-9]*")
        for processor in processors(tree.read(f"{path}/cpulist"))
    }
    cores: dict[tuple[int, ...], Core] = {}
    for processor in sorted(allowed):
        topology = f"/sys/devices/system/cpu/cpu{processor}/topology"
        siblings = processors(tree.read(f"{topology}/thread_siblings_list"))
        together = tuple(sorted(allowed.intersection(siblings))) or (processor,)
        cores.setdefault(together, Core(together, nodes.get(processor, 0)))
    return tuple(cores.values())


def single_cores(count: int) -> tuple[Core, ...]:
    """Return the cores of a machine of which only the number of processors is known."""
    return tuple(Core((processor,)) for processor in range(count))
