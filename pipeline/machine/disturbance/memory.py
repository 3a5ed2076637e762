"""Detect lack of memory and memory errors during a step."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pipeline.machine.counters import increases, memory_errors, memory_events
from pipeline.machine.disturbance.base import Ending, Scene
from pipeline.model import ProbeSample
from pipeline.text.units import plural


def watch_swapping(scene: Scene) -> Ending:
    """Watch how much memory of any process is swapped in and out."""
    before = memory_events(scene.tree)

    def ending(_: Sequence[ProbeSample]) -> str:
        grew = increases(before, memory_events(scene.tree))
        swapped = (grew.get("pswpin", 0) + grew.get("pswpout", 0)) * os.sysconf("SC_PAGE_SIZE")
        return f"{swapped / 1e6:.0f} MB were swapped" if swapped > scene.limits.swapped else ""

    return ending


def watch_out_of_memory(scene: Scene) -> Ending:
    """Watch whether the kernel kills a process because memory is exhausted."""
    before = memory_events(scene.tree)

    def ending(_: Sequence[ProbeSample]) -> str:
        killed = increases(before, memory_events(scene.tree)).get("oom_kill", 0)
        of = plural(killed, "process", "processes")
        return f"the kernel killed {of} because memory ran out" if killed else ""

    return ending


def watch_memory_errors(scene: Scene) -> Ending:
    """Watch the errors of memory with ECC, corrected or not: each costs time."""
    before = memory_errors(scene.tree)

    def ending(_: Sequence[ProbeSample]) -> str:
        grew = increases(before, memory_errors(scene.tree))
        where = ", ".join(f"{by} {name}" for name, by in grew.items())
        return f"memory had errors ({where}); replace the memory module" if grew else ""

    return ending
