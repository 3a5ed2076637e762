"""All that the settings ask of a machine, in the order in which it is set.

Restoring goes the other way round. Threads of cores are taken off last and come back first: the
settings of their processors are not there while they are off.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.machine.tune import disks, memory, processor, timers
from pipeline.machine.tune.host import Host
from pipeline.machine.tune.settings import Settings
from pipeline.machine.tune.wish import Asked


def asked(settings: Settings, host: Host) -> Iterator[Asked]:
    """Yield what is asked of a machine."""
    tree = host.tree
    yield from timers.timers(settings, host)
    yield from memory.swappiness(settings, tree)
    yield from memory.swap(settings, host)
    yield from memory.huge_pages(settings, tree)
    yield from memory.numa_balancing(settings, tree)
    yield from memory.aslr(settings, tree)
    yield from memory.dirty(settings, tree)
    yield from disks.scheduler(settings, tree)
    yield from processor.turbo(settings, tree)
    yield from processor.governor(settings, tree)
    yield from processor.idle_states(settings, tree)
    yield from processor.smt(settings, tree)
