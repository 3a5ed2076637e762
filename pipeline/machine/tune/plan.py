"""All kernel settings that ``[tune]`` asks to change, in the order of changing them.

Restoring goes in reverse order. SMT is disabled last and enabled first: the settings of a second
thread do not exist while it is disabled.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.machine.tune import disks, memory, processor, timers
from pipeline.machine.tune.desired_value import KnobRequest
from pipeline.machine.tune.host import Host
from pipeline.machine.tune.settings import TuneSettings


def desired_values(settings: TuneSettings, host: Host) -> Iterator[KnobRequest]:
    """Yield the value that each kernel setting of a machine should have, by ``[tune]``."""
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
