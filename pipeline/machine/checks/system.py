"""Machine checks of the operating system: clocks, limits, changes since the last run."""

from __future__ import annotations

import re

from pipeline.machine.checks.base import (
    Check,
    CheckFinding,
    Look,
    Severity,
    bad,
    good,
    judged,
    unknown,
)
from pipeline.machine.differences import differences

FILES = 16_384
"""Open files that a server must be allowed: RocksDB keeps all of its files open, and 1 TB in files
of 64 MB is that many."""

_FAST_CLOCKS = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"}
"""Clocks that a process reads without a system call (vDSO)."""

_TOLD = 3
"""How many differences a report names."""


def _clocksource(look: Look) -> CheckFinding:
    folder = "/sys/devices/system/clocksource/clocksource0"
    value = look.tree.read(f"{folder}/current_clocksource")
    return judged(value in _FAST_CLOCKS, value) if value else unknown("not reported by the kernel")


def _synchronised(look: Look) -> CheckFinding:
    state = look.system.synchronised()
    if state is None:
        return unknown("not reported by the kernel")
    return good("yes") if state else bad("not synchronised")


def _changed(look: Look) -> CheckFinding:
    if look.last is None:
        return unknown("this machine has no earlier run")
    changes = [str(change) for change in differences(look.last, look.machine)]
    if not changes:
        return good("unchanged since its last run")
    more = len(changes) - _TOLD
    return bad("; ".join(changes[:_TOLD]) + (f"; and {more} more" if more > 0 else ""))


def _reboot(look: Look) -> CheckFinding:
    waits = look.tree.path("/run/reboot-required").exists()
    packages = look.tree.read("/run/reboot-required.pkgs").split()
    by = f" by {packages[0]}" if packages else ""
    return bad(f"required{by}") if waits else good("no reboot pending")


def _open_files(look: Look) -> CheckFinding:
    limits = look.tree.read("/proc/self/limits")
    found = re.search(r"^Max open files\s+(\d+|unlimited)", limits, re.MULTILINE)
    if found is None:
        return unknown("not reported by the kernel")
    return judged(found[1] == "unlimited" or int(found[1]) >= FILES, found[1])


def _counters(look: Look) -> CheckFinding:
    value = look.tree.number("/proc/sys/kernel/perf_event_paranoid")
    if value is None:
        return unknown("the kernel has none")
    status = look.tree.read("/proc/self/status")
    root = re.search(r"^Uid:\s+\d+\s+0\b", status, re.MULTILINE) is not None
    return judged(root or value <= 1, f"perf_event_paranoid {value}")


def _cores(look: Look) -> CheckFinding:
    value = look.tree.read("/proc/sys/kernel/core_pattern")
    if not value:
        return unknown("not reported by the kernel")
    program = value.removeprefix("|").split()[0] if value != "|" else ""
    return bad(f"to {program}") if value.startswith("|") else good("to a file, or disabled")


def _aslr(look: Look) -> CheckFinding:
    value = look.tree.number("/proc/sys/kernel/randomize_va_space")
    return (
        unknown("not reported by the kernel") if value is None else judged(value == 2, str(value))
    )


CHECKS = (
    Check(
        "changed",
        Severity.WARN,
        "A change of the machine changes results and could be mistaken for a change of the DBMS.",
        "nothing if the change was intended; controls measure its effect",
        _changed,
    ),
    Check(
        "clock",
        Severity.WARN,
        "An unsynchronised clock can jump, and orders the runs of several machines wrongly.",
        "apt-get install systemd-timesyncd",
        _synchronised,
    ),
    Check(
        "clocksource",
        Severity.WARN,
        "With a slow clock source, a DBMS that reads the time in every query measures the "
        "clock source.",
        "dmesg shows why the clock source tsc is not used; if it is reliable, boot with "
        "tsc=reliable",
        _clocksource,
    ),
    Check(
        "open_files",
        Severity.WARN,
        "With a low limit of open files, a DBMS closes and reopens files during queries.",
        "ulimit -n 65536, or LimitNOFILE=65536 in the service",
        _open_files,
    ),
    Check(
        "reboot",
        Severity.IGNORE,
        "The next reboot starts another kernel, which may change the level of all series.",
        "reboot between two nights",
        _reboot,
    ),
    Check(
        "perf_counters",
        Severity.IGNORE,
        "Without processor counters an explanation of a slowdown lacks evidence.",
        "sysctl kernel.perf_event_paranoid=1",
        _counters,
    ),
    Check(
        "core_dumps",
        Severity.IGNORE,
        "When a server crashes, the core-dump handler compresses its memory during the next "
        "measurement.",
        "sysctl kernel.core_pattern=core",
        _cores,
    ),
    Check(
        "aslr",
        Severity.IGNORE,
        "With fixed addresses every run has the same memory layout, so repetitions do not show "
        "its effect.",
        "sysctl kernel.randomize_va_space=2",
        _aslr,
    ),
)
"""All machine checks of the operating system."""
