"""Processor time of processes that have no part in the measurement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from pipeline.machine.disturbance.base import Ending, Scene
from pipeline.machine.readings import ticks
from pipeline.machine.tree import Tree
from pipeline.model import Sample

_KERNEL = 0x00200000
"""PF_KTHREAD of the kernel's sched.h. Its threads work for who made the work: for the DBMS, whose
pages they write."""

_NAMED = 3
"""How many processes are told by name."""

Identity = tuple[int, int]
"""A process: its number and when it began, which no later one shares both of."""


class Process(NamedTuple):
    """A process at one moment; times in ticks.

    ``own`` is what all its threads used, ``reaped`` what its children had used that have ended.
    """

    name: str
    parent: int
    own: int
    reaped: int


Processes = Mapping[Identity, Process]


def watch_others(scene: Scene) -> Ending:
    """Watch the processes that are not below those that are ours."""
    began, before = ticks(scene.tree), read_processes(scene.tree)

    def ending(_: Sequence[Sample]) -> str:
        after, ended = read_processes(scene.tree), ticks(scene.tree)
        if began is None or ended is None or ended.total <= began.total:
            return ""
        passed = ended.total - began.total
        used = spent(before, after, scene.ours)
        share = sum(used.values()) / passed
        if share <= scene.limits.others:
            return ""
        most = ", ".join(
            f"{after[one].name} (pid {one[0]}, {100 * by / passed:.0f} %)"
            for one, by in used.most_common(_NAMED)
        )
        return f"other processes used {100 * share:.0f} % of the processors: {most}"

    return ending


def read_processes(tree: Tree) -> dict[Identity, Process]:
    """Return all processes there are now (proc_pid_stat(5)), without the kernel's own threads."""
    found = {}
    for path in tree.glob("/proc/[0-9]*/stat"):
        # The name, in parentheses, may hold anything, these and blanks included.
        head, _, rest = tree.read(path).rpartition(")")
        fields = rest.split()
        if len(fields) < 20:
            continue  # It has ended meanwhile.
        pid, _, name = head.partition(" (")
        if int(fields[6]) & _KERNEL:
            continue
        user, system, reaped_user, reaped_system = map(int, fields[11:15])
        process = Process(name, int(fields[1]), user + system, reaped_user + reaped_system)
        found[int(pid), int(fields[19])] = process
    return found


def spent(before: Processes, after: Processes, ours: Collection[int]) -> Counter[Identity]:
    """Return the ticks that each process used that is there after, without those of ours.

    What began and ended in between is its parent's: with its end all that it used was added to
    the parent's ``reaped``. Of one that was there before, what it had used by then is taken off.
    """
    parents = {pid: process.parent for (pid, _), process in before.items()}
    alive = {pid for pid, _ in after}
    known: Counter[int] = Counter()
    for (pid, began), process in before.items():
        if (pid, began) not in after:
            known[_heir(pid, parents, alive)] += process.own + process.reaped
    used: Counter[Identity] = Counter()
    now = {pid: process.parent for (pid, _), process in after.items()}
    for one, process in after.items():
        if _below(one[0], now, ours):
            continue
        was = before.get(one, Process("", 0, 0, 0))
        reaped = max(process.reaped - was.reaped - known[one[0]], 0)
        used[one] = process.own - was.own + reaped
    return used


def _heir(pid: int, parents: Mapping[int, int], alive: Collection[int]) -> int:
    """Return the nearest ancestor that is still there: it was given what a process had used."""
    while (pid := parents.get(pid, 0)) and pid not in alive:
        pass
    return pid


def _below(pid: int, parents: Mapping[int, int], ours: Collection[int]) -> bool:
    """Say whether a process is one of ours or descends from one."""
    while pid and pid not in ours:
        pid = parents.get(pid, 0)
    return pid in ours
