"""Find the changes of many series at once, on all processor cores.

The series are searched one after the other until the remaining work clearly exceeds the start time
of processes; the rest is then distributed to one process per core (:mod:`changepoint.worker`).
Processes are used, not threads, because most of a search is Python code.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import closing
from typing import Any, TypeVar, Unpack, overload

from changepoint.model import Detection
from changepoint.options import Options, checked
from changepoint.series import Floats, Positions
from changepoint.worker import Answer, Item, answers, can_start, search

Name = TypeVar("Name", bound=Hashable)
Values = Sequence[float | None] | Floats
Progress = Callable[[int, int], object]

STARTING = 2.0
"""Minimum time, in seconds, that processes must be expected to save: starting them takes about one
second, more on a busy machine."""

SLICE = 0.25
"""Seconds of work to search, or send to a process, at a time: long against the milliseconds of
sending, short enough for a smooth progress display."""

SLICES_PER_WORKER = 4
"""Minimum slices per process, so that none waits long for the slowest."""


@overload
def detect_many(
    collection: Mapping[Name, Values],
    *,
    positions: Mapping[Name, Positions | None] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> dict[Name, Detection]: ...


@overload
def detect_many(
    collection: Sequence[Values] | Floats,
    *,
    positions: Sequence[Positions | None] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> list[Detection]: ...


def detect_many(
    collection: Mapping[Any, Values] | Sequence[Values] | Floats,
    *,
    positions: Mapping[Any, Positions | None] | Sequence[Positions | None] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> dict[Any, Detection] | list[Detection]:
    """Find where the levels of many series change: ``detect`` of each, with the same options.

    Args:
        collection: the values of each series, of any lengths; or of each under its name.
        positions: the positions of the values of each series, or None for a series without. If the
            series have names, a mapping by the same names, from which series without positions may
            be missing.
        workers: number of concurrent processes; by default one for each core that this
            process may use. With 1, or if one core needs less than about ``STARTING`` seconds for
            the work, everything runs in this process.
        progress: called as ``progress(done, total)`` several times a second, in the caller's
            thread; ``done`` is the number of finished series, counted from the first.
        options: those of ``detect``.

    Returns:
        The detections in the order of the series; a dict if they have names.

    Raises:
        ValueError: an option is out of range, or a series is malformed; the first such series is
            named. The message is one sentence.
        RuntimeError: a process ended early, for example out of memory.
    """
    complete = checked(options)
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, not {workers}")
    named = isinstance(collection, Mapping)
    series = list(collection.values() if isinstance(collection, Mapping) else collection)
    names = list(collection) if named else list(range(len(series)))
    items = list(zip(series, _labels(names, positions, named=named), strict=True))
    crew = (workers or _cores()) if can_start() else 1
    found: list[Detection] = []
    with closing(_answers(items, complete, crew)) as parts:
        for detections, refusal in parts:
            found += detections
            if refusal is not None:
                raise ValueError(f"series {names[len(found)]!r}: {refusal}")
            if progress is not None:
                progress(len(found), len(items))
    return dict(zip(names, found, strict=True)) if named else found


def _labels(names: list[Any], positions: Any, *, named: bool) -> list[Positions | None]:
    """Return each series's labels of positions, in the order of ``names``; None without labels."""
    if positions is None:
        return [None] * len(names)
    if isinstance(positions, Mapping) != named:
        raise ValueError(
            "positions must be a mapping if series is a mapping, and a list if series is a list"
        )
    if named:
        unknown = set(positions).difference(names)
        if unknown:
            raise ValueError(f"positions name {unknown.pop()!r}, which is not among the series")
        labels = [positions.get(name) for name in names]
    else:
        labels = list(positions)
    if len(labels) != len(names):
        raise ValueError(
            f"{len(names)} series need {len(names)} lists of positions, not {len(labels)}"
        )
    for name, own in zip(names, labels, strict=True):
        if own is not None and (isinstance(own, str) or not hasattr(own, "__len__")):
            raise ValueError(f"series {name!r}: positions must be a list, not {own!r}")
    return labels


def _cores() -> int:
    """Return how many processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _answers(items: list[Item], options: dict[str, Any], workers: int) -> Generator[Answer]:
    """Return the results for slices of the series, in order."""
    done, size, pace = 0, 1, 0.0
    while done < len(items):
        rest = len(items) - done
        # Not before the second slice is timed: the first may have included compiling.
        if done > 1 and pace * rest * (1.0 - 1.0 / workers) > STARTING:
            size = max(1, min(int(SLICE / pace), rest // (workers * SLICES_PER_WORKER)))
            slices = [items[at : at + size] for at in range(done, len(items), size)]
            yield from answers(slices, options, min(workers, len(slices)))
            return
        started = time.perf_counter()
        answer = search(items[done : done + size], options)
        pace = max(time.perf_counter() - started, 1e-6) / size
        done += size
        size = max(1, min(2 * size, int(SLICE / pace), len(items) - done))
        yield answer
