"""Checks of the operating system: its clocks, its limits, and whether it is as it was."""

from __future__ import annotations

import re

from pipeline.machine.checks.base import Check, Finding, Level, Look, bad, good, judged, unknown
from pipeline.machine.differences import differences

FILES = 16_384
"""Open files that a server has to be allowed: RocksDB keeps all of its files open, and 1 TB in
files of 64 MB is that many."""

_FAST_CLOCKS = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"}
"""Clocks that a process reads without asking the kernel (vDSO)."""

_TOLD = 3
"""Differences that are told by name."""


def _clocksource(look: Look) -> Finding:
    folder = "/sys/devices/system/clocksource/clocksource0"
    value = look.tree.read(f"{folder}/current_clocksource")
    return judged(value in _FAST_CLOCKS, value) if value else unknown("the kernel does not say")


def _synchronised(look: Look) -> Finding:
    state = look.system.synchronised()
    if state is None:
        return unknown("the kernel does not say")
    return good("yes") if state else bad("by nothing")


def _changed(look: Look) -> Finding:
    if look.last is None:
        return unknown("no run of this machine is known")
    changes = [str(change) for change in differences(look.last, look.machine)]
    if not changes:
        return good("as at its last run")
    more = len(changes) - _TOLD
    return bad("; ".join(changes[:_TOLD]) + (f"; and {more} more" if more > 0 else ""))


def _reboot(look: Look) -> Finding:
    waits = look.tree.path("/run/reboot-required").exists()
    packages = look.tree.read("/run/reboot-required.pkgs").split()
    by = f" by {packages[0]}" if packages else ""
    return bad(f"waited for{by}") if waits else good("not waited for")


def _open_files(look: Look) -> Finding:
    limits = look.tree.read("/proc/self/limits")
    found = re.search(r"^Max open files\s+(\d+|unlimited)", limits, re.MULTILINE)
    if found is None:
        return unknown("the kernel does not say")
    return judged(found[1] == "unlimited" or int(found[1]) >= FILES, found[1])


def _counters(look: Look) -> Finding:
    value = look.tree.number("/proc/sys/kernel/perf_event_paranoid")
    if value is None:
        return unknown("the kernel has none")
    status = look.tree.read("/proc/self/status")
    root = re.search(r"^Uid:\s+\d+\s+0\b", status, re.MULTILINE) is not None
    return judged(root or value <= 1, f"perf_event_paranoid {value}")


def _cores(look: Look) -> Finding:
    value = look.tree.read("/proc/sys/kernel/core_pattern")
    if not value:
        return unknown("the kernel does not say")
    program = value.removeprefix("|").split()[0] if value != "|" else ""
    return bad(f"to {program}") if value.startswith("|") else good("to a file, if at all")


def _aslr(look: Look) -> Finding:
    value = look.tree.number("/proc/sys/kernel/randomize_va_space")
    return unknown("the kernel does not say") if value is None else judged(value == 2, str(value))


CHECKS = (
    Check(
        "changed",
        Level.WARN,
        "What changes on a machine changes numbers, and would be taken for a change of the DBMS.",
        "nothing, if it was meant; controls measure what it did",
        _changed,
    ),
    Check(
        "clock",
        Level.WARN,
        "A clock that nothing keeps right jumps when something does, and orders runs of several"
        " machines wrongly.",
        "apt-get install systemd-timesyncd",
        _synchronised,
    ),
    Check(
        "clocksource",
        Level.WARN,
        "With a slow clock a DBMS that asks for the time in every query measures the clock.",
        "boot with tsc=reliable where the processor's clock is; read dmesg for why it is not used",
        _clocksource,
    ),
    Check(
        "open_files",
        Level.WARN,
        "A DBMS that may open few files closes and opens them again in the middle of queries.",
        "ulimit -n 65536, or LimitNOFILE=65536 in the service",
        _open_files,
    ),
    Check(
        "reboot",
        Level.IGNORE,
        "The next reboot starts another kernel, and with it another level of all series.",
        "reboot between two nights, not in one",
        _reboot,
    ),
    Check(
        "perf_counters",
        Level.IGNORE,
        "Without counters of the processor nobody sees why a query takes longer.",
        "sysctl kernel.perf_event_paranoid=1",
        _counters,
    ),
    Check(
        "core_dumps",
        Level.IGNORE,
        "When a server crashes, a program packs its memory while the next one is measured.",
        "sysctl kernel.core_pattern=core",
        _cores,
    ),
    Check(
        "aslr",
        Level.IGNORE,
        "With fixed addresses every run has the same luck with caches, and repeating does not show"
        " it.",
        "sysctl kernel.randomize_va_space=2",
        _aslr,
    ),
)
"""The checks of this group."""
