"""Machine checks of memory: swap, errors, huge pages, NUMA."""

from __future__ import annotations

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
from pipeline.machine.counters import memory_errors

_TUNE = "nightshift tune set"

STORM = 1000
"""Pages per second swapped in or out that count as a storm: 4 MB/s, which no idle machine has."""

FREE = 0.8
"""The share of memory that must be available: the configurations give a DBMS buffers of 70 %, and
every server needs further memory."""

SWAPPY = 10
"""Swappiness above which the kernel swaps out memory of a DBMS in favour of its file cache. The
production notes of MySQL and MongoDB ask for 1 to 10; the kernel's default is 60."""


def _share(part: int, whole: int) -> str:
    return f"{part / 1e9:.1f} of {whole / 1e9:.1f} GB"


def _swapping(look: Look) -> CheckFinding:
    before, after = (moment.memory for moment in look.moments)
    names = ("pswpin", "pswpout")
    if not all(name in moment for name in names for moment in (before, after)):
        return unknown("not counted by the kernel")
    pages = sum(after[name] - before[name] for name in names)
    rate = pages / look.system.interval
    return judged(rate < STORM, f"{rate:.0f} pages/s")


def _swap(look: Look) -> CheckFinding:
    total, free = look.meminfo.get("SwapTotal"), look.meminfo.get("SwapFree", 0)
    if total is None:
        return unknown("not reported by the kernel")
    # A hundredth belongs to sleeping processes and may stay for months.
    used = total - free
    return judged(used <= total // 100, _share(used, total) if total else "none")


def _swappiness(look: Look) -> CheckFinding:
    value = look.tree.number("/proc/sys/vm/swappiness")
    if value is None:
        return unknown("not reported by the kernel")
    if not look.meminfo.get("SwapTotal"):
        return good(f"{value}, without swap")
    return judged(value <= SWAPPY, str(value))


def _available(look: Look) -> CheckFinding:
    available, total = look.meminfo.get("MemAvailable"), look.machine.memory_bytes
    if available is None or not total:
        return unknown("not reported by the kernel")
    # A container may have less than its host.
    available = min(available, total)
    return judged(available >= FREE * total, _share(available, total))


def _huge_pages(look: Look) -> CheckFinding:
    size = look.meminfo.get("Hugepagesize", 0)
    total, free = look.meminfo.get("HugePages_Total"), look.meminfo.get("HugePages_Free", 0)
    if total is None:
        return unknown("not reported by the kernel")
    if not total:
        return good("none reserved")
    return judged(free < total, f"{_share(free * size, total * size)} unused")


def _thp(look: Look) -> CheckFinding:
    value = look.tree.chosen("/sys/kernel/mm/transparent_hugepage/enabled")
    return judged(value != "always", value) if value else unknown("the kernel has none")


def _numa_balancing(look: Look) -> CheckFinding:
    value = look.tree.number("/proc/sys/kernel/numa_balancing")
    nodes = look.machine.numa_nodes or 1
    if nodes == 1:
        return good("one NUMA node")
    if value is None:
        return unknown("not reported by the kernel")
    return judged(value == 0, f"{'on' if value else 'off'}, {nodes} NUMA nodes")


def _zone_reclaim(look: Look) -> CheckFinding:
    value = look.tree.number("/proc/sys/vm/zone_reclaim_mode")
    return unknown("the kernel has none") if value is None else judged(value == 0, str(value))


def _errors(look: Look, kind: str) -> CheckFinding:
    counts = memory_errors(look.tree)
    if not counts:
        return unknown("not counted on this machine")
    count = sum(number for name, number in counts.items() if name.endswith(kind))
    return good("none since boot") if count == 0 else bad(f"{count} since boot")


CHECKS = (
    Check(
        "swapping",
        Severity.REFUSE,
        "Swapping makes results depend on the swap device.",
        "end the processes that use most memory (ps aux --sort -rss), or lower the workload's rows",
        _swapping,
    ),
    Check(
        "memory_broken",
        Severity.REFUSE,
        "Memory had errors that could not be corrected, so no result can be trusted.",
        "replace the module that edac-util -v names",
        lambda look: _errors(look, "ue"),
    ),
    Check(
        "memory_errors",
        Severity.WARN,
        "Correcting memory errors takes time, and such a memory module often fails soon.",
        "replace the module that edac-util -v names",
        lambda look: _errors(look, "ce"),
    ),
    Check(
        "memory_available",
        Severity.WARN,
        "The DBMS buffers are sized for 70 % of the memory; with less, they swap or displace "
        "the file cache.",
        "end the processes that use most memory (ps aux --sort -rss)",
        _available,
    ),
    Check(
        "swap",
        Severity.WARN,
        "Swapped-out pages are read back during a measurement.",
        f'{_TUNE}, with [tune] swap = "off"',
        _swap,
    ),
    Check(
        "swappiness",
        Severity.WARN,
        "The kernel swaps out DBMS buffers in favour of the file cache.",
        f"{_TUNE}, with [tune] swappiness = 1",
        _swappiness,
    ),
    Check(
        "thp",
        Severity.WARN,
        "Transparent huge pages are created during queries, as far as memory is not "
        "fragmented, so results differ from night to night.",
        _TUNE,
        _thp,
    ),
    Check(
        "huge_pages",
        Severity.WARN,
        "Reserved but unused huge pages are lost memory.",
        "sysctl vm.nr_hugepages=0",
        _huge_pages,
    ),
    Check(
        "numa_balancing",
        Severity.WARN,
        "NUMA balancing unmaps and moves pages while queries run.",
        _TUNE,
        _numa_balancing,
    ),
    Check(
        "zone_reclaim",
        Severity.WARN,
        "A full NUMA node drops its file cache while other nodes have free memory.",
        "sysctl vm.zone_reclaim_mode=0",
        _zone_reclaim,
    ),
)
"""All machine checks of memory."""
