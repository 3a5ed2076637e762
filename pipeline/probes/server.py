"""The server's own process tree, apart from everything else on the host."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import psutil

from pipeline.probes.base import Field, Kind


class _Usage(NamedTuple):
    cpu_us: float
    switches: float


class ServerProcesses:
    """Processor time, context switches and memory of a process and all its descendants.

    The counters never go back: a process that has ended keeps what it was last seen with, so
    a connection that closes does not look like negative work.
    """

    name = "server"
    help = "processor time, context switches and memory of the server's process tree"
    fields: tuple[Field, ...] = (
        Field("server.cpu_us", Kind.COUNTER, "us"),
        Field("server.cs", Kind.COUNTER, "count"),
        Field("server.rss", Kind.GAUGE, "bytes"),
    )

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._seen: dict[tuple[int, float], _Usage] = {}

    def read(self) -> dict[str, float]:
        """Return both counters and the resident memory, shared pages counted once."""
        private, shared = 0, 0
        for process in self._tree():
            try:
                with process.oneshot():
                    identity = (process.pid, process.create_time())
                    switches = process.num_ctx_switches()
                    memory = process.memory_info()
                    cpu_us = _cpu_us(process)
            except psutil.NoSuchProcess:
                continue
            # A process that starts a thread is read from other accounts, which lag a little.
            before = self._seen.get(identity, _Usage(0.0, 0.0))
            self._seen[identity] = _Usage(
                max(cpu_us, before.cpu_us),
                max(switches.voluntary + switches.involuntary, before.switches),
            )
            private += memory.rss - memory.shared
            shared = max(shared, memory.shared)
        return {
            "server.cpu_us": sum(usage.cpu_us for usage in self._seen.values()),
            "server.cs": float(sum(usage.switches for usage in self._seen.values())),
            "server.rss": float(private + shared),
        }

    def _tree(self) -> list[psutil.Process]:
        try:
            return [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []


def _cpu_us(process: psutil.Process) -> float:
    """Processor time in microseconds.

    The scheduler's own figure is exact to the nanosecond but belongs to one thread, and is
    gone when the thread is; the accounted times cover the whole process but move in ticks of
    10 ms. So: the first for processes of one thread, as Postgres has, the second for others.
    """
    try:
        with Path(f"/proc/{process.pid}/schedstat").open() as exact:
            if process.num_threads() == 1:
                return int(exact.read().split()[0]) / 1000.0
    except (OSError, IndexError, ValueError):
        pass  # A kernel without scheduler statistics: the accounted times serve.
    times = process.cpu_times()
    return (times.user + times.system) * 1e6
