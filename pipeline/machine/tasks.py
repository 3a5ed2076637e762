"""Separate the tasks of a DBMS: those that serve clients, and those that work in the background.

A server starts on the processors for both kinds of tasks. Once clients are connected, the kind of
each task is known, and the task is moved to the processors of its kind.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection
from typing import NamedTuple

import psutil

from pipeline.machine.kernel_files import Tree


class Task(NamedTuple):
    """A thread of a process, with its name and the command line of the process."""

    pid: int
    tid: int
    name: str
    title: str


def tasks_below(pid: int, tree: Tree | None = None) -> list[Task]:
    """Return all threads of a process and its descendants; none if it has ended."""
    tree = tree or Tree()
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        return [
            Task(
                each.pid,
                int(path.rpartition("/")[2]),
                tree.read(f"{path}/comm"),
                tree.read(f"/proc/{each.pid}/cmdline").replace("\0", " ").strip(),
            )
            for each in (root, *root.children(recursive=True))
            for path in tree.glob(f"/proc/{each.pid}/task/[0-9]*")
        ]
    return []


def separate(
    pid: int,
    serves: Callable[[Task], bool | None],
    server: Collection[int],
    background: Collection[int],
) -> None:
    """Give every task of a process and its descendants the processors of its kind.

    ``serves`` returns whether a task serves clients; if it returns None, the task keeps its
    processors.
    """
    for task in tasks_below(pid):
        kind = serves(task)
        if kind is not None:
            # It may have ended since it was listed.
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(task.tid, server if kind else background)
