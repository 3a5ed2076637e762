"""Memory that did not suffice, or failed."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pipeline.machine.disturbance.base import Ending, Scene
from pipeline.machine.readings import grown, memory_errors, memory_events
from pipeline.model import Sample
from pipeline.units import counted


def watch_swapping(scene: Scene) -> Ending:
    """Watch what is swapped in and out, whoever's it is."""
    before = memory_events(scene.tree)

    def ending(_: Sequence[Sample]) -> str:
        grew = grown(before, memory_events(scene.tree))
        swapped = (grew.get("pswpin", 0) + grew.get("pswpout", 0)) * os.sysconf("SC_PAGE_SIZE")
        return f"{swapped / 1e6:.0f} MB were swapped" if swapped > scene.limits.swapped else ""

    return ending


def watch_out_of_memory(scene: Scene) -> Ending:
    """Watch whether the kernel killed a process for want of memory."""
    before = memory_events(scene.tree)

    def ending(_: Sequence[Sample]) -> str:
        killed = grown(before, memory_events(scene.tree)).get("oom_kill", 0)
        of = counted(killed, "process", "processes")
        return f"the kernel killed {of} for want of memory" if killed else ""

    return ending


def watch_memory_errors(scene: Scene) -> Ending:
    """Watch the errors that memory with ECC corrected, or could not: each costs time."""
    before = memory_errors(scene.tree)

    def ending(_: Sequence[Sample]) -> str:
        grew = grown(before, memory_errors(scene.tree))
        where = ", ".join(f"{by} {name}" for name, by in grew.items())
        return f"memory had errors ({where}); replace it" if grew else ""

    return ending
