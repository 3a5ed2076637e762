"""Measure how much processor time other processes used during a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from pipeline.machine.counters import Ticks, passed, ticks, ticks_by_processor
from pipeline.machine.disturbance.base import Scene, ShareEnding, TakenTime
from pipeline.machine.kernel_files import Tree
from pipeline.machine.processes import (
    Identity,
    Processes,
    ProcessSnapshot,
    allowed_processors,
    below,
    heir,
    read_processes,
    read_threads,
)
from pipeline.machine.topology import read_cores
from pipeline.model import ProbeSample

_NAMED = 3
"""How many processes a report names."""


class _Moment(NamedTuple):
    """The time used until one moment, by processor, by process and by our threads."""

    whole: Ticks | None
    processors: Mapping[int, Ticks]
    processes: Processes
    threads: Processes


def watch_others(scene: Scene) -> ShareEnding:
    """Watch the processes that do not belong to the measurement.

    What counts is their time on the cores that serve, SMT siblings included, as a share of one
    core. Without pinning it is their time on all processors, as a share of all.
    """
    before = _read(scene)

    def ending(_: Sequence[ProbeSample]) -> TakenTime | None:
        after = _read(scene)
        cores = _cores(scene, before.processors.keys() & after.processors.keys())
        if cores:
            return _on_cores(scene, before, after, cores)
        if before.whole is None or after.whole is None:
            return None
        total = after.whole.total - before.whole.total
        if total <= 0:
            return None
        used = ticks_used(before.processes, after.processes, scene.ours)
        named = _named(used, after.processes, total)
        share = sum(used.values()) / total
        return TakenTime(
            share, f"other processes used {100 * share:.0f} % of the processors: {named}"
        )

    return ending


def _read(scene: Scene) -> _Moment:
    tree = scene.tree
    processors = ticks_by_processor(tree) if scene.serving else {}
    processes = read_processes(tree, kernel=bool(scene.serving))
    threads: dict[Identity, ProcessSnapshot] = {}
    if scene.serving:
        parents = _parents(processes)
        for one, process in processes.items():
            if below(one[0], parents, scene.ours):
                threads |= read_threads(tree, one[0]) or {one: process}
    return _Moment(ticks(tree), processors, processes, threads)


def _cores(scene: Scene, known: Collection[int]) -> frozenset[int]:
    """Return the processors of all cores that serve; empty if the kernel does not report one."""
    if not scene.serving or not set(scene.serving) <= set(known):
        return frozenset()
    return frozenset(
        processor
        for core in read_cores(known, scene.tree)
        if not set(core.processors).isdisjoint(scene.serving)
        for processor in core.processors
    )


def _on_cores(
    scene: Scene, before: _Moment, after: _Moment, cores: frozenset[int]
) -> TakenTime | None:
    """Return what other processes took of the measured cores.

    The kernel does not report the time of a process by processor. The time of others is what the
    cores worked beyond our own processes and the kernel's threads, and at most the time of all
    processes that may run there.
    """
    worked = {one: passed(before.processors[one], after.processors[one]) for one in cores}
    elapsed = max(each.total for each in worked.values())
    if elapsed <= 0:
        return None
    used = _used(before.processes, after.processes)
    parents = _parents(after.processes)
    foreign: Counter[Identity] = Counter()
    own = 0
    for one, by in used.items():
        if after.processes[one].kernel:
            own += by if after.processes[one].processor in cores else 0
        elif below(one[0], parents, scene.ours):
            own += by
        elif by and _may_run(scene.tree, one[0], cores):
            foreign[one] = by
    own -= _elsewhere(before.threads, after.threads, cores)
    beyond = sum(each.worked for each in worked.values()) - own
    share = max(0, min(beyond, sum(foreign.values()))) / elapsed
    named = _named(foreign, after.processes, elapsed)
    return TakenTime(
        share, f"other processes used {100 * share:.0f} % of a measured core; busiest: {named}"
    )


def _may_run(tree: Tree, pid: int, cores: frozenset[int]) -> bool:
    allowed = allowed_processors(tree, pid)
    return not allowed or not cores.isdisjoint(allowed)


def _elsewhere(before: Processes, after: Processes, cores: frozenset[int]) -> int:
    """Return the ticks of those threads that ran on other cores, as a server's background work."""
    return sum(
        thread.own - (before[one].own if one in before else 0)
        for one, thread in after.items()
        if thread.processor >= 0 and thread.processor not in cores
    )


def _named(used: Counter[Identity], processes: Processes, total: int) -> str:
    return ", ".join(
        f"{processes[one].name} (pid {one[0]}, {100 * by / total:.0f} %)"
        for one, by in used.most_common(_NAMED)
    )


def _parents(processes: Processes) -> dict[int, int]:
    return {pid: process.parent for (pid, _), process in processes.items()}


def ticks_used(before: Processes, after: Processes, ours: Collection[int]) -> Counter[Identity]:
    """Return how many clock ticks each process outside of the measurement used.

    A process that started and ended in between counts for its parent, whose ``reaped`` then
    includes its time. For a process in ``before``, the time used until then is subtracted.
    """
    now = _parents(after)
    used = _used(before, after)
    return Counter({one: by for one, by in used.items() if not below(one[0], now, ours)})


def _used(before: Processes, after: Processes) -> Counter[Identity]:
    """Return how many clock ticks each process used, with its ended children."""
    parents = _parents(before)
    alive = {pid for pid, _ in after}
    known: Counter[int] = Counter()
    for (pid, began), process in before.items():
        if (pid, began) not in after:
            known[heir(pid, parents, alive)] += process.own + process.reaped
    used: Counter[Identity] = Counter()
    for one, process in after.items():
        was = before.get(one, ProcessSnapshot("", 0, 0, 0))
        reaped = max(process.reaped - was.reaped - known[one[0]], 0)
        used[one] = process.own - was.own + reaped
    return used
