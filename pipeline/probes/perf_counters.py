"""A probe of the server's hardware counters, such as instructions, through perf_event_open.

Counters include the threads and processes that a watched process starts, so they cover connections
that open during a step. Nothing extra runs during the step: counters are read only when the sampler
reads them. perf_event_open(2) documents the constants.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
from contextlib import ExitStack
from functools import cache
from typing import Final, NamedTuple

import psutil

from pipeline.model import FieldKind, SampledField

_SYSCALLS: Final = {"x86_64": 298, "aarch64": 241}
"""The number of the system call perf_event_open, for which the C library has no function."""

_HARDWARE, _SOFTWARE, _CACHE = 0, 1, 3
_MISS: Final = 1 << 16
"""The bit in the config of a cache event that selects misses; operation 0 selects reads."""


class _Event(NamedTuple):
    """A hardware counter: its name, and the kernel's numbers for it."""

    name: str
    type: int
    config: int


EVENTS: Final = (
    _Event("cycles", _HARDWARE, 0),
    _Event("instructions", _HARDWARE, 1),
    _Event("cache_misses", _HARDWARE, 3),
    _Event("branches", _HARDWARE, 4),
    _Event("branch_misses", _HARDWARE, 5),
    _Event("dtlb_misses", _CACHE, 3 | _MISS),
    _Event("itlb_misses", _CACHE, 4 | _MISS),
    _Event("page_faults", _SOFTWARE, 2),
)

_ATTRIBUTES: Final = struct.Struct("=IIQQQQQ16x")
"""The 64 bytes of struct perf_event_attr that every kernel knows: type, size, config,
sample_period, sample_type, read_format, flags, and zeros."""
_TIMES: Final = 0b11
"""Flags of read_format: also report how long an event was enabled, and how long it counted."""
_INHERIT: Final = 0b10
"""Flag of an event: also count in the threads and processes that a watched thread starts."""
_CLOSE_ON_EXEC: Final = 8
_READING: Final = struct.Struct("=QQQ")

_LIBC: Final = ctypes.CDLL(None, use_errno=True)


class Available(NamedTuple):
    """The hardware counters that this machine has, and sentences about missing ones.

    ``refused`` is about counters that a user can enable, ``lacks`` about counters that the machine
    does not have; each is empty if there are none.
    """

    events: tuple[str, ...]
    refused: str
    lacks: str


@cache
def available() -> Available:
    """Return which hardware counters this machine has; they are tried only once."""
    found, refused, lacking = [], [], []
    for event in EVENTS:
        try:
            os.close(_open(event, os.getpid()))
        except PermissionError:
            refused.append(event.name)
        except OSError:
            lacking.append(event.name)
        else:
            found.append(event.name)
    return Available(
        tuple(found),
        f"the kernel refuses to count {', '.join(refused)}; run as root, or set "
        "kernel.perf_event_paranoid to 1"
        if refused
        else "",
        f"this machine does not count {', '.join(lacking)}" if lacking else "",
    )


class PerfCounters:
    """Counts hardware events of a process with all of its threads and children.

    If the processor has fewer counters than there are events, the events take turns, and their
    counts are scaled by time. The counts of a process that has ended are kept.
    """

    fields: tuple[SampledField, ...] = tuple(
        SampledField(f"perf.{event.name}", FieldKind.COUNTER, "count") for event in EVENTS
    )

    def __init__(self, pid: int) -> None:
        """Count events of the process ``pid`` and its children."""
        self._pid = pid
        self._counters: dict[str, list[int]] = {}
        self._opened = ExitStack()

    def __enter__(self) -> PerfCounters:
        """Start counting in all threads; new threads are included."""
        threads = _threads(self._pid)
        for event in EVENTS:
            if event.name in available().events:
                # All threads or none: a partial count would look like the total.
                with contextlib.suppress(OSError):
                    self._counters[event.name] = [
                        counter
                        for thread in threads
                        if (counter := self._counter(event, thread)) is not None
                    ]
        return self

    def __exit__(self, *failure: object) -> None:
        """Stop counting."""
        self._counters = {}
        self._opened.close()

    def read(self) -> dict[str, float]:
        """Return the counts so far, of the counters that could be opened."""
        found: dict[str, float] = {}
        for name, counters in self._counters.items():
            values = [_scaled(*_READING.unpack(os.read(counter, 24))) for counter in counters]
            if values:
                found[f"perf.{name}"] = sum(values)
        return found

    def _counter(self, event: _Event, thread: int) -> int | None:
        try:
            counter = _open(event, thread)
        except ProcessLookupError:
            return None
        self._opened.callback(os.close, counter)
        return counter


def _scaled(value: int, enabled: int, counted: int) -> float:
    """Return a count; it is extrapolated if the counter was active only part of the time."""
    return value * enabled / counted if counted else 0.0


def _threads(pid: int) -> list[int]:
    found: list[int] = []
    try:
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            found += (thread.id for thread in process.threads())
    except psutil.NoSuchProcess:
        pass
    return found


def _open(event: _Event, thread: int) -> int:
    """Open a hardware counter of one thread, and return its file descriptor."""
    number = _SYSCALLS.get(platform.machine())
    if number is None:
        raise OSError(
            f"the number of the system call perf_event_open is unknown for {platform.machine()}"
        )
    attributes = ctypes.create_string_buffer(
        _ATTRIBUTES.pack(event.type, _ATTRIBUTES.size, event.config, 0, 0, _TIMES, _INHERIT),
        _ATTRIBUTES.size,
    )
    # On any processor (-1), in no group (-1).
    arguments = map(ctypes.c_long, (thread, -1, -1, _CLOSE_ON_EXEC))
    opened = _LIBC.syscall(ctypes.c_long(number), attributes, *arguments)
    if opened < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(opened)
