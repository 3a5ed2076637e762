"""Identify processes that own a file, and prove whether they are gone."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from pipeline.machine.kernel_files import Tree
from pipeline.model import Frozen

LONGEST = 100
"""Maximum length of a text that is shown, in characters."""

Plain = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]*$", max_length=LONGEST)]
"""A text, perhaps from another user, that is safe to show: one line without escape sequences."""


class ProcessIdentity(Frozen):
    """The identity of a process: its number and start time, as numbers are reused.

    A start of 0 is unknown.
    """

    pid: Annotated[int, Field(gt=0, lt=2**31)]
    started: int


class ProcessNamespace(Frozen):
    """Where a process runs: host, boot and container. Processes elsewhere are invisible to it.

    ``machine`` is the machine's id, ``boot`` the id of its boot, ``namespace`` the PID namespace,
    of which every container has its own. An empty text is unknown.
    """

    host: Plain
    machine: str
    boot: str
    namespace: str


class OwnerState(StrEnum):
    """What can be proven about the owner of a file: alive, gone, or unknown."""

    LIVES = "lives"
    GONE = "gone"
    UNKNOWN = "unknown"


def plain(text: str) -> str:
    """Return only the printable characters of a text."""
    return "".join(each for each in text if each.isprintable())[:LONGEST]


def exists(pid: int) -> bool:
    """Return whether a process with this number exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Observer:
    """What this process can see of other processes."""

    def __init__(self, tree: Tree | None = None, exists: Callable[[int], bool] = exists) -> None:
        self._tree = tree or Tree()
        self._exists = exists

    def current_process(self) -> ProcessIdentity:
        """Return the identity of this process."""
        return ProcessIdentity(pid=os.getpid(), started=self._started(os.getpid()) or 0)

    def place(self) -> ProcessNamespace:
        """Return where this process runs: host, boot and container."""
        try:
            namespace = str(self._tree.path("/proc/self/ns/pid").readlink())
        except OSError:
            namespace = ""
        return ProcessNamespace(
            host=plain(socket.gethostname()),
            machine=self._tree.read("/etc/machine-id"),
            boot=self._tree.read("/proc/sys/kernel/random/boot_id"),
            namespace=namespace,
        )

    def standing(self, process: ProcessIdentity, place: ProcessNamespace) -> OwnerState:
        """Return whether a process is alive, gone or not visible from here.

        A process is gone if this machine has restarted since the process ran, or if its number is
        free or belongs to another process. Nothing is known of other machines and containers.
        """
        here = self.place()
        if not place.boot or not here.boot:
            return OwnerState.UNKNOWN
        if place.boot != here.boot:
            same = bool(here.machine) and here.machine == place.machine
            return OwnerState.GONE if same else OwnerState.UNKNOWN
        if place.namespace != here.namespace:
            return OwnerState.UNKNOWN
        started = self._started(process.pid)
        if started is not None and process.started:
            return OwnerState.LIVES if started == process.started else OwnerState.GONE
        return OwnerState.LIVES if self._exists(process.pid) else OwnerState.GONE

    def _started(self, pid: int) -> int | None:
        """Return when a process started; None if it is not visible.

        A process that has ended and was not waited for counts as gone: its start is -1.
        """
        text = self._tree.read(f"/proc/{pid}/stat")
        # The second field is the program's name in parentheses, which may contain anything.
        fields = text.rpartition(")")[2].split()
        if len(fields) < 20:
            return None
        return -1 if fields[0] in {"Z", "X", "x"} else int(fields[19])
