"""Whose something is: processes of this machine, and whether they are provably gone."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from pipeline.machine.tree import Tree
from pipeline.model import Frozen

LONGEST = 100
"""Characters of what is shown."""

Plain = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]*$", max_length=LONGEST)]
"""What is shown to people and may be another user's: one line, and no escape sequence."""


class Process(Frozen):
    """A process: its number, and its start in ticks after the machine's, as numbers come again.

    A start of 0 is unknown.
    """

    pid: Annotated[int, Field(gt=0, lt=2**31)]
    started: int


class Place(Frozen):
    """Where processes are: only those of the same can be seen.

    ``machine`` is the machine's id, ``boot`` that of its start, ``namespace`` the set of
    process numbers, of which every container has its own. Empty is unknown.
    """

    host: Plain
    machine: str
    boot: str
    namespace: str


class Standing(StrEnum):
    """What can be proven of an owner."""

    LIVES = "lives"
    GONE = "gone"
    UNKNOWN = "unknown"


def plain(text: str) -> str:
    """Return what may be shown of a text, as :data:`Plain`."""
    return "".join(each for each in text if each.isprintable())[:LONGEST]


def exists(pid: int) -> bool:
    """Say whether there is a process of a number; those of other users may be hidden in /proc."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Observer:
    """Who looks: this process, and what it sees of others."""

    def __init__(self, tree: Tree | None = None, exists: Callable[[int], bool] = exists) -> None:
        self._tree = tree or Tree()
        self._exists = exists

    def me(self) -> Process:
        """Return this process."""
        return Process(pid=os.getpid(), started=self._started(os.getpid()) or 0)

    def place(self) -> Place:
        """Return where this process is."""
        try:
            namespace = str(self._tree.path("/proc/self/ns/pid").readlink())
        except OSError:
            namespace = ""
        return Place(
            host=plain(socket.gethostname()),
            machine=self._tree.read("/etc/machine-id"),
            boot=self._tree.read("/proc/sys/kernel/random/boot_id"),
            namespace=namespace,
        )

    def standing(self, process: Process, place: Place) -> Standing:
        """Say what can be proven of a process that was in a place.

        Gone is one of an earlier start of this very machine, or one that is not here, nor another
        one that has its number now. Nothing is known of other machines and other containers.
        """
        here = self.place()
        if not place.boot or not here.boot:
            return Standing.UNKNOWN
        if place.boot != here.boot:
            same = bool(here.machine) and here.machine == place.machine
            return Standing.GONE if same else Standing.UNKNOWN
        if place.namespace != here.namespace:
            return Standing.UNKNOWN
        started = self._started(process.pid)
        if started is not None and process.started:
            return Standing.LIVES if started == process.started else Standing.GONE
        return Standing.LIVES if self._exists(process.pid) else Standing.GONE

    def _started(self, pid: int) -> int | None:
        """Return when a process began (proc(5): field 22 of stat); None if it is not to be seen.

        One that has ended and was not waited for yet is as good as not there: it began never.
        """
        text = self._tree.read(f"/proc/{pid}/stat")
        # The second field is the program's name in brackets, and may hold anything.
        fields = text.rpartition(")")[2].split()
        if len(fields) < 20:
            return None
        return -1 if fields[0] in {"Z", "X", "x"} else int(fields[19])
