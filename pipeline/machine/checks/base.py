"""The interface of a check: its findings, and its view of a machine."""

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


class Verdict(StrEnum):
    """The result of a check: good, bad, or unknown."""

    GOOD = "good"
    BAD = "bad"
    UNKNOWN = "unknown"


class Severity(StrEnum):
    """The effect of a bad finding on a night: refuse it, warn, or nothing."""

    REFUSE = "refuse"
    WARN = "warn"
    IGNORE = "ignore"


class CheckFinding(NamedTuple):
    """The finding of a check: the observed value, for people, and the verdict."""

    value: str
    verdict: Verdict


def good(value: str) -> CheckFinding:
    """Return a good finding."""
    return CheckFinding(value, Verdict.GOOD)


def bad(value: str) -> CheckFinding:
    """Return a bad finding."""
    return CheckFinding(value, Verdict.BAD)


def unknown(value: str) -> CheckFinding:
    """Return an unknown finding; its value is the reason."""
    return CheckFinding(value, Verdict.UNKNOWN)


def judged(fine: bool, value: str) -> CheckFinding:
    """Return a finding that is good if ``fine``, else bad."""
    return good(value) if fine else bad(value)


class CounterSnapshot(NamedTuple):
    """The counters at one moment; see :mod:`pipeline.machine.counters`."""

    ticks: counters.Ticks | None
    processes: Processes
    throttled: Mapping[str, int]
    memory: Mapping[str, int]


class Look:
    """One inspection of a machine. Shared facts are read once, on first use."""

    def __init__(self, system: System, last: Machine | None = None) -> None:
        """Inspect a system; ``last`` is the fingerprint of its last run, if known."""
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
        """The mount of the databases."""
        return storage.mount_of(self.tree, self.system.folder)

    @property
    def disks(self) -> tuple[Disk, ...]:
        """The disks of the databases."""
        return self.machine.disks

    @cached_property
    def meminfo(self) -> dict[str, int]:
        """The figures of /proc/meminfo: bytes, or counts if it has no unit."""
        found = re.findall(r"^(\S+):\s+(\d+)( kB)?$", self.tree.read("/proc/meminfo"), re.MULTILINE)
        return {name: int(value) * (1024 if unit else 1) for name, value, unit in found}

    @cached_property
    def smart(self) -> dict[str, dict[str, Any]]:
        """The health of disks by name, without disks that do not report it.

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
        """Two snapshots, separated by the system's interval, in which this process does nothing."""
        first = self._moment()
        self.system.sleep(self.system.interval)
        return first, self._moment()

    @cached_property
    def shares(self) -> Shares | None:
        """How the processors spent the time between the two snapshots."""
        before, after = (moment.ticks for moment in self.moments)
        if before is None or after is None or after.total <= before.total:
            return None
        return counters.shares(before, after)

    def _moment(self) -> CounterSnapshot:
        tree = self.tree
        return CounterSnapshot(
            counters.ticks(tree),
            read_processes(tree, kernel=True),
            counters.throttled(tree),
            counters.memory_events(tree),
        )


@dataclass(frozen=True)
class Check:
    """One check of a machine.

    ``name`` is its name in settings, in lower case with underscores. ``why`` says in a sentence how
    a bad finding affects results, ``remedy`` has the remedy: a command, or words. ``level`` is the
    effect of a bad finding on a night, unless the settings change it.
    """

    name: str
    level: Severity
    why: str
    remedy: str
    find: Callable[[Look], CheckFinding]


class CheckResult(Frozen):
    """A check with its finding."""

    group: str
    name: str
    level: Severity
    verdict: Verdict
    value: str
    why: str
    remedy: str


def found(group: str, check: Check, level: Severity, finding: CheckFinding) -> CheckResult:
    """Return the result of a check of a group, at the level in force."""
    return CheckResult(
        group=group,
        name=check.name,
        level=level,
        verdict=finding.verdict,
        value=finding.value,
        why=check.why,
        remedy=check.remedy,
    )
