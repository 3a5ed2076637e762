"""The interface of a machine check, and what checks can see of a machine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from pipeline.machine import counters, fingerprint, storage
from pipeline.machine.counters import Shares
from pipeline.machine.processes import Processes, read_processes
from pipeline.machine.storage import Mount
from pipeline.machine.system import System
from pipeline.model import Disk, Frozen, Machine

ALL = -1
"""The number that stands for all processors together."""


class Verdict(StrEnum):
    """The result of a machine check: good, bad or unknown."""

    GOOD = "good"
    BAD = "bad"
    UNKNOWN = "unknown"


class Severity(StrEnum):
    """What a bad result of a machine check does to a night: refuse it, warn, or nothing."""

    REFUSE = "refuse"
    WARN = "warn"
    IGNORE = "ignore"


class CheckFinding(NamedTuple):
    """What a machine check found: the value, in words for people, and the verdict."""

    value: str
    verdict: Verdict


def good(value: str) -> CheckFinding:
    """Return the finding of a check that is fine, with the observed value."""
    return CheckFinding(value, Verdict.GOOD)


def bad(value: str) -> CheckFinding:
    """Return the finding of a check that is not fine, with the observed value."""
    return CheckFinding(value, Verdict.BAD)


def unknown(value: str) -> CheckFinding:
    """Return the finding of a check that could not be made, with the reason."""
    return CheckFinding(value, Verdict.UNKNOWN)


def judged(fine: bool, value: str) -> CheckFinding:
    """Return a good finding if ``fine`` is true, otherwise a bad one."""
    return good(value) if fine else bad(value)


class CounterSnapshot(NamedTuple):
    """The kernel's counters at one moment."""

    ticks: counters.Ticks | None
    processors: Mapping[int, counters.Ticks]
    processes: Processes
    throttled: Mapping[str, int]
    memory: Mapping[str, int]


class Look:
    """One inspection of a machine; values that several checks need are read only once."""

    def __init__(self, system: System, last: Machine | None = None) -> None:
        """Inspect a machine; ``last`` is its fingerprint at its last run, if known."""
        self.system = system
        self.tree = system.tree
        self.last = last

    @cached_property
    def machine(self) -> Machine:
        """The fingerprint of the machine."""
        return fingerprint.fingerprint(None, self.system.folder, self.system)

    @cached_property
    def guest(self) -> bool:
        """Whether this is a virtual machine or a container."""
        return self.machine.virtualised != "none"

    @cached_property
    def mount(self) -> Mount | None:
        """The mounted file system that the databases are on."""
        return storage.mount_of(self.tree, self.system.folder)

    @property
    def disks(self) -> tuple[Disk, ...]:
        """The disks that the databases are on."""
        return self.machine.disks

    @cached_property
    def meminfo(self) -> dict[str, int]:
        """The values in /proc/meminfo, in bytes."""
        found = re.findall(r"^(\S+):\s+(\d+)( kB)?$", self.tree.read("/proc/meminfo"), re.MULTILINE)
        return {name: int(value) * (1024 if unit else 1) for name, value, unit in found}

    @cached_property
    def smart(self) -> dict[str, dict[str, Any]]:
        """The health of each disk that reports it (SMART), by name of the disk.

        A value is the JSON of smartctl, which needs root.
        """
        reported = {}
        for disk in self.disks:
            # Do not wake a sleeping disk.
            argv = ["smartctl", "--json", "--nocheck=standby", "-H", "-A", f"/dev/{disk.name}"]
            try:
                answer = json.loads(self.system.program_output(argv) or "{}")
            except ValueError:
                continue
            status = answer.get("smart_status") if isinstance(answer, dict) else None
            if isinstance(status, dict) and isinstance(status.get("passed"), bool):
                reported[disk.name] = answer
        return reported

    @cached_property
    def moments(self) -> tuple[CounterSnapshot, CounterSnapshot]:
        """Two snapshots of the kernel's counters, taken while this process does nothing."""
        first = self._moment()
        self.system.sleep(self.system.interval)
        return first, self._moment()

    @cached_property
    def shares(self) -> dict[int, Shares]:
        """What each processor did between the two snapshots, as shares of the time.

        Where the kernel reports only all of them together, they have the number ``ALL``. Empty if
        it reports nothing.
        """
        first, second = self.moments
        before, after = first.processors, second.processors
        if not before and first.ticks is not None and second.ticks is not None:
            before, after = {ALL: first.ticks}, {ALL: second.ticks}
        return {
            number: counters.shares(then, after[number])
            for number, then in before.items()
            if number in after and after[number].total > then.total
        }

    def _moment(self) -> CounterSnapshot:
        tree = self.tree
        return CounterSnapshot(
            counters.ticks(tree),
            counters.ticks_by_processor(tree),
            read_processes(tree, kernel=True),
            counters.throttled(tree),
            counters.memory_events(tree),
        )


@dataclass(frozen=True)
class Check:
    """One check of a machine: its name, the function that performs it, texts about a bad finding.

    ``name`` is its name in settings, in lower case with underscores. ``why`` says in a sentence how
    a bad finding affects results; ``remedy`` is a command or a sentence. ``level`` is the effect of
    a bad finding on a night, unless the settings change it.
    """

    name: str
    level: Severity
    why: str
    remedy: str
    find: Callable[[Look], CheckFinding]


class CheckResult(Frozen):
    """A machine check with its finding."""

    group: str
    name: str
    level: Severity
    verdict: Verdict
    value: str
    why: str
    remedy: str


def found(group: str, check: Check, level: Severity, finding: CheckFinding) -> CheckResult:
    """Return the result of a machine check: its finding, and the severity of a bad finding."""
    return CheckResult(
        group=group,
        name=check.name,
        level=level,
        verdict=finding.verdict,
        value=finding.value,
        why=check.why,
        remedy=check.remedy,
    )
