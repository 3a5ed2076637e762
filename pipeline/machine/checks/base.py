"""What a check is, what it finds, and what it looks at."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from pipeline.machine import fingerprint, readings, storage
from pipeline.machine.readings import Process, Shares
from pipeline.machine.storage import Mount
from pipeline.machine.system import System
from pipeline.model import Disk, Frozen, Machine


class Verdict(StrEnum):
    """Whether a machine is as it should be; unknown where it does not tell."""

    GOOD = "good"
    BAD = "bad"
    UNKNOWN = "unknown"


class Level(StrEnum):
    """What a bad finding does to a night: it is refused, warned of, or nothing is said."""

    REFUSE = "refuse"
    WARN = "warn"
    IGNORE = "ignore"


class Finding(NamedTuple):
    """What a check found: the value seen, for people, and what that means."""

    value: str
    verdict: Verdict


def good(value: str) -> Finding:
    """Return a finding that is as it should be."""
    return Finding(value, Verdict.GOOD)


def bad(value: str) -> Finding:
    """Return a finding that is not as it should be."""
    return Finding(value, Verdict.BAD)


def unknown(value: str) -> Finding:
    """Return a finding that says why nothing could be found."""
    return Finding(value, Verdict.UNKNOWN)


def judged(fine: bool, value: str) -> Finding:
    """Return a finding that is good if it is ``fine``."""
    return good(value) if fine else bad(value)


class Moment(NamedTuple):
    """What is counted over time, at one moment; by :mod:`pipeline.machine.readings`."""

    ticks: readings.Ticks | None
    processes: Mapping[tuple[int, int], Process]
    throttled: Mapping[str, int]
    memory: Mapping[str, int]


class Look:
    """One look at a machine. What several checks need is read once, when the first asks."""

    def __init__(self, system: System, last: Machine | None = None) -> None:
        """Look at a system, of which ``last`` is the fingerprint of its last run, if known."""
        self.system = system
        self.tree = system.tree
        self.last = last

    @cached_property
    def machine(self) -> Machine:
        """The fingerprint."""
        return fingerprint.fingerprint(None, self.system.folder, self.system)

    @cached_property
    def guest(self) -> bool:
        """Whether this is a virtual machine or a container."""
        return self.machine.virtualised != "none"

    @cached_property
    def mount(self) -> Mount | None:
        """The mount that databases are in."""
        return storage.mount_of(self.tree, self.system.folder)

    @property
    def disks(self) -> tuple[Disk, ...]:
        """The disks that databases are on."""
        return self.machine.disks

    @cached_property
    def meminfo(self) -> dict[str, int]:
        """The figures of /proc/meminfo: bytes, or counts where it has no unit."""
        found = re.findall(r"^(\S+):\s+(\d+)( kB)?$", self.tree.read("/proc/meminfo"), re.MULTILINE)
        return {name: int(value) * (1024 if unit else 1) for name, value, unit in found}

    @cached_property
    def smart(self) -> dict[str, dict[str, Any]]:
        """What the disks say of their health, by name; it lacks those that say nothing.

        That is the JSON of smartctl, which needs root.
        """
        told = {}
        for disk in self.disks:
            # A disk that sleeps is not woken for it.
            argv = ["smartctl", "--json", "--nocheck=standby", "-H", "-A", f"/dev/{disk.name}"]
            try:
                answer = json.loads(self.system.said(argv) or "{}")
            except ValueError:
                continue
            status = answer.get("smart_status") if isinstance(answer, dict) else None
            if isinstance(status, dict) and isinstance(status.get("passed"), bool):
                told[disk.name] = answer
        return told

    @cached_property
    def moments(self) -> tuple[Moment, Moment]:
        """Two moments, an interval of the system apart in which this process does nothing."""
        first = self._moment()
        self.system.sleep(self.system.interval)
        return first, self._moment()

    @cached_property
    def shares(self) -> Shares | None:
        """How the processors spent the time between the two moments."""
        before, after = (moment.ticks for moment in self.moments)
        if before is None or after is None or after.total <= before.total:
            return None
        return readings.shares(before, after)

    def _moment(self) -> Moment:
        tree = self.tree
        return Moment(
            readings.ticks(tree),
            readings.processes(tree),
            readings.throttled(tree),
            readings.memory_events(tree),
        )


@dataclass(frozen=True)
class Check:
    """One question to a machine.

    ``name`` is what settings call it, in lower case with underscores. ``why`` says in a sentence
    what is wrong with numbers where it is bad, ``mend`` what to do then: a command, or words.
    ``level`` is what a bad finding does to a night where the settings say nothing.
    """

    name: str
    level: Level
    why: str
    mend: str
    find: Callable[[Look], Finding]


class Found(Frozen):
    """A check with what it found."""

    group: str
    name: str
    level: Level
    verdict: Verdict
    value: str
    why: str
    mend: str


def found(group: str, check: Check, level: Level, finding: Finding) -> Found:
    """Return a check of a group with its finding, at the level that holds."""
    return Found(
        group=group,
        name=check.name,
        level=level,
        verdict=finding.verdict,
        value=finding.value,
        why=check.why,
        mend=check.mend,
    )
