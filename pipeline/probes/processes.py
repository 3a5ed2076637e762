"""A probe of the processor time and memory of a server or client with all its processes."""

from __future__ import annotations

import os
import re
from collections import Counter

from pipeline.machine.counters import clock_ticks
from pipeline.machine.kernel_files import Tree
from pipeline.machine.processes import (
    Identity,
    Processes,
    ProcessSnapshot,
    below,
    heir,
    read_processes,
)
from pipeline.model import FieldKind, SampledField

_SWITCHES = re.compile(r"^(?:non)?voluntary_ctxt_switches:\s*(\d+)$", re.MULTILINE)

_ROUNDING = 2
"""Ticks by which a sum of user and system time may be too low, because the kernel rounds each down.
"""

_ATTEMPTS = 3
"""Attempts at a complete reading: a process may end while the files of all processes are read one
after the other."""


class ProcessTree:
    """Reads processor time, context switches and memory of a process and its children.

    The kernel adds the whole time of an ended process to its parent's account of children when the
    parent waits for it. This includes processes that start and end between two readings. Until the
    parent has waited, the time is in no account, and :meth:`read` returns no processor time. After
    the root process of the tree has ended, :meth:`read` returns nothing.
    """

    def __init__(self, name: str, pid: int, tree: Tree | None = None) -> None:
        """Watch the process ``pid``; ``name`` (server, client) is the prefix of the field names.

        Reads the files of ``tree``, by default this machine's.
        """
        self._name = name
        self.fields: tuple[SampledField, ...] = (
            SampledField(f"{name}.cpu_us", FieldKind.COUNTER, "us"),
            SampledField(f"{name}.user_us", FieldKind.COUNTER, "us"),
            SampledField(f"{name}.cs", FieldKind.COUNTER, "count"),
            SampledField(f"{name}.rss", FieldKind.GAUGE, "bytes"),
            SampledField(f"{name}.stopped", FieldKind.GAUGE, "count"),
        )
        self._files = tree or Tree()
        self._tick_us = 1e6 / clock_ticks()
        self._root = next((one for one in read_processes(self._files) if one[0] == pid), None)
        self._seen: dict[Identity, ProcessSnapshot] = {}
        self._threads: dict[Identity, dict[int, float]] = {}
        self._switches: dict[tuple[Identity, int], int] = {}
        # The ticks that each process must inherit, and those it had inherited when first seen.
        self._owed: Counter[Identity | None] = Counter()
        self._inherited: dict[Identity, int] = {}
        self._highest: dict[str, float] = {}

    def read(self) -> dict[str, float]:
        """Return processor time, memory and the number of stopped processes.

        ``user_us`` is the processor time in user mode, in the kernel's ticks of 10 ms.
        """
        ours = self._alive()
        for _ in range(_ATTEMPTS - 1):
            if self._is_complete(ours):
                break
            ours = self._alive()
        if not ours:
            return {}
        private, shared = 0, 0
        cpu_us, user_us = 0.0, 0.0
        for one, process in ours.items():
            cpu_us += self._own_us(one, process) + process.reaped * self._tick_us
            user_us += process.user * self._tick_us
            resident, common = self._memory(one[0])
            private += resident - common
            shared = max(shared, common)
        complete = self._is_complete(ours)
        self._settle(ours)
        counters = {f"{self._name}.cs": float(sum(self._switches.values()))}
        if complete:
            counters |= {f"{self._name}.cpu_us": cpu_us, f"{self._name}.user_us": user_us}
        for field, value in counters.items():
            # The sum loses what the kernel rounds down when a process ends.
            self._highest[field] = counters[field] = max(value, self._highest.get(field, 0.0))
        return counters | {
            f"{self._name}.rss": float(private + shared),
            f"{self._name}.stopped": float(sum(process.stopped for process in ours.values())),
        }

    def _alive(self) -> Processes:
        """Return all living processes of the tree; none once the root process has ended.

        A process stays in the tree when its parent ends. A process that ends during the reading is
        left out: its parent's account may include its time already, and the time would count twice.
        """
        found = read_processes(self._files)
        if self._root is None or self._root not in found or found[self._root].ended:
            return {}
        parents = {pid: process.parent for (pid, _), process in found.items()}
        known = {one[0] for one in self._seen if one in found} | {self._root[0]}
        ours = {one: each for one, each in found.items() if below(one[0], parents, known)}
        still = read_processes(self._files, [pid for pid, _ in ours])
        return {one: process for one, process in ours.items() if one in still}

    def _debts(self, ours: Processes) -> Counter[Identity | None]:
        """Return the ticks that the kernel must add to each process for its ended descendants.

        The key None has the ticks of ended processes that have no living ancestor in the tree.
        """
        owed = self._owed.copy()
        alive: dict[int, Identity] = {one[0]: one for one in ours}
        parents = {one[0]: process.parent for one, process in self._seen.items()}
        for one in self._seen.keys() - ours.keys():
            process = self._seen[one]
            missing = owed.pop(one, 0) - (process.reaped - self._inherited[one])
            passed = process.own + process.reaped + (missing if missing > _ROUNDING else 0)
            owed[alive.get(heir(one[0], parents, alive))] += passed
        return owed

    def _is_complete(self, ours: Processes) -> bool:
        """Return whether the time of every ended process is accounted for."""
        return all(
            one is not None
            and owed - _ROUNDING <= ours[one].reaped - self._inherited.get(one, ours[one].reaped)
            for one, owed in self._debts(ours).items()
            if owed > _ROUNDING
        )

    def _settle(self, ours: Processes) -> None:
        """Remember the processes for the next reading."""
        self._owed = self._debts(ours)
        self._seen = dict(ours)
        self._threads = {one: each for one, each in self._threads.items() if one in ours}
        for one, process in ours.items():
            self._inherited.setdefault(one, process.reaped)

    def _own_us(self, one: Identity, process: ProcessSnapshot) -> float:
        """Return how much processor time a process has used itself, in microseconds.

        The scheduler counts each thread to the nanosecond and drops the count when the thread ends.
        The process's account keeps the time of all threads, in ticks.
        """
        threads = self._threads.setdefault(one, {})
        for folder in self._files.glob(f"/proc/{one[0]}/task/[0-9]*"):
            thread = int(folder.rpartition("/")[2])
            exact = self._files.read(f"{folder}/schedstat").split()
            # Never decrease, even if a new thread reuses the number of an ended one.
            if exact:
                threads[thread] = max(int(exact[0]) / 1000.0, threads.get(thread, 0.0))
            switches = sum(map(int, _SWITCHES.findall(self._files.read(f"{folder}/status"))))
            key = one, thread
            self._switches[key] = max(switches, self._switches.get(key, 0))
        return max(sum(threads.values()), process.own * self._tick_us)

    def _memory(self, pid: int) -> tuple[int, int]:
        """Return how much memory a process uses alone and shared, in bytes."""
        pages = self._files.read(f"/proc/{pid}/statm").split()
        if len(pages) < 3:
            return 0, 0
        page = os.sysconf("SC_PAGE_SIZE")
        return int(pages[1]) * page, int(pages[2]) * page
