"""A process tree by itself, apart from everything else on the host: the server's, the client's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from pipeline.model import FieldKind, SampledField

_SWITCHES = re.compile(r"^(?:non)?voluntary_ctxt_switches:\s*(\d+)$", re.MULTILINE)


class _Usage(NamedTuple):
    cpu_us: float
    user_us: float
    switches: float


_NOTHING = _Usage(0.0, 0.0, 0.0)


class ProcessTree:
    """Processor time, context switches and memory of a process and all its descendants.

    The kernel counts both for each thread, and forgets them with it. So every thread is read
    and the counters never go back: one that has ended keeps what it was last seen with, and a
    connection that closes does not look like negative work. What lives and ends between two
    readings is not seen.
    """

    def __init__(self, name: str, pid: int) -> None:
        """Watch the tree below ``pid``; ``name`` (server, client) begins the fields' names."""
        self.name = name
        self.help = f"processor time, context switches and memory of the {name}'s process tree"
        self.fields: tuple[SampledField, ...] = (
            SampledField(f"{name}.cpu_us", FieldKind.COUNTER, "us"),
            SampledField(f"{name}.user_us", FieldKind.COUNTER, "us"),
            SampledField(f"{name}.cs", FieldKind.COUNTER, "count"),
            SampledField(f"{name}.rss", FieldKind.GAUGE, "bytes"),
        )
        self._root = psutil.Process(pid)
        self._seen: dict[tuple[int, float, int], _Usage] = {}

    def read(self) -> dict[str, float]:
        """Return the counters and the resident memory, shared pages counted once.

        ``user_us`` is the processor time outside of the kernel, in the kernel's ticks of 10 ms.
        """
        private, shared = 0, 0
        for process in self._tree():
            try:
                memory = process.memory_info()
                created = process.create_time()
                threads = dict(_threads(process))
            except psutil.NoSuchProcess:
                continue
            for thread, usage in threads.items():
                identity = (process.pid, created, thread)
                # Never back, not even where a thread was given the number of one that ended.
                before = self._seen.get(identity, _NOTHING)
                self._seen[identity] = _Usage(*map(max, usage, before))
            private += memory.rss - memory.shared
            shared = max(shared, memory.shared)
        return {
            f"{self.name}.cpu_us": sum(usage.cpu_us for usage in self._seen.values()),
            f"{self.name}.user_us": sum(usage.user_us for usage in self._seen.values()),
            f"{self.name}.cs": float(sum(usage.switches for usage in self._seen.values())),
            f"{self.name}.rss": float(private + shared),
        }

    def _tree(self) -> list[psutil.Process]:
        try:
            return [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []


def _threads(process: psutil.Process) -> Iterator[tuple[int, _Usage]]:
    """Give the number and the counters of every thread that a process has now."""
    for thread in process.threads():
        folder = Path(f"/proc/{process.pid}/task/{thread.id}")
        try:
            status = (folder / "status").read_text()
            cpu_us = _exact_us(folder)
        except (FileNotFoundError, ProcessLookupError):
            continue  # It ended meanwhile.
        if cpu_us is None:
            cpu_us = (thread.user_time + thread.system_time) * 1e6
        switches = float(sum(map(int, _SWITCHES.findall(status))))
        yield thread.id, _Usage(cpu_us, thread.user_time * 1e6, switches)


def _exact_us(folder: Path) -> float | None:
    """Return a thread's processor time as the scheduler has it, exact to the nanosecond.

    None for a kernel without scheduler statistics: the accounted times, which move in ticks
    of 10 ms, must serve.
    """
    try:
        return int((folder / "schedstat").read_text().split()[0]) / 1000.0
    except FileNotFoundError:
        if folder.exists():
            return None
        raise
    except (IndexError, ValueError):
        return None
