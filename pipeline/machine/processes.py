"""The processes of this machine: how much time each used, and which started which."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import psutil

from pipeline.machine.fingerprint import processors
from pipeline.machine.kernel_files import Tree

_KERNEL = 0x00200000
"""The flag PF_KTHREAD of the kernel's sched.h, which marks kernel threads. A kernel thread works
for the process that caused the work, as for the DBMS whose pages it writes."""

_PROCESSOR = 36
"""The place of the field ``processor`` of proc(5) behind the name of a process."""

_ENDED = frozenset("ZX")
"""States of processes that have ended and that nobody has waited for yet."""

_STOPPED = frozenset("Tt")
"""States of processes that a signal or a debugger has stopped."""

Identity = tuple[int, int]
"""A process: its number and start time, a pair that is never reused."""


class ProcessSnapshot(NamedTuple):
    """A process at one moment, with the time it has used in clock ticks.

    ``own`` is the time of all its threads, ``reaped`` that of its ended children; ``user`` is the
    part of both in user mode. A process that has ``ended`` exists until its parent has waited for
    it. A ``stopped`` one waits for a signal to go on. ``processor`` is where it ran last, -1 if
    that is unknown. ``kernel`` marks a thread of the kernel.
    """

    name: str
    parent: int
    own: int
    reaped: int
    user: int = 0
    ended: bool = False
    stopped: bool = False
    processor: int = -1
    kernel: bool = False


Processes = Mapping[Identity, ProcessSnapshot]


def read_processes(
    tree: Tree, pids: Iterable[int] | None = None, *, kernel: bool = False
) -> dict[Identity, ProcessSnapshot]:
    """Return all processes of the machine; with ``kernel`` also kernel threads.

    With ``pids``, return only the processes with these numbers.
    """
    paths = (
        tree.glob("/proc/[0-9]*/stat") if pids is None else [f"/proc/{pid}/stat" for pid in pids]
    )
    return _read(tree, paths, kernel=kernel)


def read_threads(tree: Tree, pid: int) -> dict[Identity, ProcessSnapshot]:
    """Return the threads of a process; ``reaped`` is that of the whole process."""
    return _read(tree, tree.glob(f"/proc/{pid}/task/[0-9]*/stat"), kernel=False)


def _read(tree: Tree, paths: Iterable[str], *, kernel: bool) -> dict[Identity, ProcessSnapshot]:
    found = {}
    for path in paths:
        # The name in parentheses may contain anything, even parentheses and spaces.
        head, _, rest = tree.read(path).rpartition(")")
        fields = rest.split()
        if len(fields) < 20:
            continue  # It has ended meanwhile.
        pid, _, name = head.partition(" (")
        if not kernel and int(fields[6]) & _KERNEL:
            continue
        user, system, reaped_user, reaped_system = map(int, fields[11:15])
        found[int(pid), int(fields[19])] = ProcessSnapshot(
            name,
            parent=int(fields[1]),
            own=user + system,
            reaped=reaped_user + reaped_system,
            user=user + reaped_user,
            ended=fields[0] in _ENDED,
            stopped=fields[0] in _STOPPED,
            processor=int(fields[_PROCESSOR]) if len(fields) > _PROCESSOR else -1,
            kernel=bool(int(fields[6]) & _KERNEL),
        )
    return found


def allowed_processors(tree: Tree, pid: int) -> tuple[int, ...]:
    """Return the processors that a process may run on; empty if that is unknown."""
    found = re.search(
        r"^Cpus_allowed_list:\s*(\S+)$", tree.read(f"/proc/{pid}/status"), re.MULTILINE
    )
    return processors(found[1]) if found else ()


def heir(pid: int, parents: Mapping[int, int], alive: Collection[int]) -> int:
    """Return the nearest living ancestor of an ended process, which inherits its time."""
    while (pid := parents.get(pid, 0)) and pid not in alive:
        pass
    return pid


def below(pid: int, parents: Mapping[int, int], ours: Collection[int]) -> bool:
    """Return whether a process is one of ``ours`` or a descendant of one."""
    while pid and pid not in ours:
        pid = parents.get(pid, 0)
    return pid in ours


def processes_of(pid: int) -> list[int]:
    """Return the ids of a process and of all its descendants."""
    try:
        root = psutil.Process(pid)
        return [pid, *(child.pid for child in root.children(recursive=True))]
    except psutil.NoSuchProcess:
        return [pid]
