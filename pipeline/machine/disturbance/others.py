"""Measure how much processor time other processes used during a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from pipeline.machine.counters import ticks
from pipeline.machine.disturbance.base import Ending, Scene
from pipeline.machine.processes import (
    Identity,
    Processes,
    ProcessSnapshot,
    below,
    heir,
    read_processes,
)
from pipeline.model import ProbeSample

_NAMED = 3
"""How many processes a report names."""


def watch_others(scene: Scene) -> Ending:
    """Watch the processes that do not belong to the measurement."""
    began, before = ticks(scene.tree), read_processes(scene.tree)

    def ending(_: Sequence[ProbeSample]) -> str:
        after, ended = read_processes(scene.tree), ticks(scene.tree)
        if began is None or ended is None or ended.total <= began.total:
            return ""
        passed = ended.total - began.total
        used = ticks_used(before, after, scene.ours)
        share = sum(used.values()) / passed
        if share <= scene.limits.others:
            return ""
        most = ", ".join(
            f"{after[one].name} (pid {one[0]}, {100 * by / passed:.0f} %)"
            for one, by in used.most_common(_NAMED)
        )
        return f"other processes used {100 * share:.0f} % of the processors: {most}"

    return ending


def ticks_used(before: Processes, after: Processes, ours: Collection[int]) -> Counter[Identity]:
    """Return how many clock ticks each process outside of the measurement used.

    A process that started and ended in between counts for its parent, whose ``reaped`` then
    includes its time. For a process in ``before``, the time used until then is subtracted.
    """
    parents = {pid: process.parent for (pid, _), process in before.items()}
    alive = {pid for pid, _ in after}
    known: Counter[int] = Counter()
    for (pid, began), process in before.items():
        if (pid, began) not in after:
            known[heir(pid, parents, alive)] += process.own + process.reaped
    used: Counter[Identity] = Counter()
    now = {pid: process.parent for (pid, _), process in after.items()}
    for one, process in after.items():
        if below(one[0], now, ours):
            continue
        was = before.get(one, ProcessSnapshot("", 0, 0, 0))
        reaped = max(process.reaped - was.reaped - known[one[0]], 0)
        used[one] = process.own - was.own + reaped
    return used
