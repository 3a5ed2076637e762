"""Checks of the memory: whether a cache is really in it, whole, and in one place."""

from __future__ import annotations

from pipeline.machine.checks.base import Check, Finding, Level, Look, bad, good, judged, unknown
from pipeline.machine.readings import memory_errors

_TUNE = "nightshift tune set"

STORM = 1000
"""Pages a second swapped in or out that make a storm: 4 MB/s, which no idle machine has."""

FREE = 0.8
"""Share of the memory that has to be available: the buffers of a DBMS are 70 % of it in the
configurations, and every server has memory beside them."""

SWAPPY = 10
"""Swappiness above which the kernel swaps out memory of a DBMS for the sake of its file cache, by
the production notes of MySQL and MongoDB, which ask for 1 to 10; the kernel's default is 60."""


def _share(part: int, whole: int) -> str:
    return f"{part / 1e9:.1f} of {whole / 1e9:.1f} GB"


def _swapping(look: Look) -> Finding:
    before, after = (moment.memory for moment in look.moments)
    names = ("pswpin", "pswpout")
    if not all(name in moment for name in names for moment in (before, after)):
        return unknown("the kernel does not count it")
    pages = sum(after[name] - before[name] for name in names)
    rate = pages / look.system.interval
    return judged(rate < STORM, f"{rate:.0f} pages/s")


def _swap(look: Look) -> Finding:
    total, free = look.meminfo.get("SwapTotal"), look.meminfo.get("SwapFree", 0)
    if total is None:
        return unknown("the kernel does not say")
    # A hundredth stays there for months and is of processes that sleep.
    used = total - free
    return judged(used <= total // 100, _share(used, total) if total else "none")


def _swappiness(look: Look) -> Finding:
    value = look.tree.number("/proc/sys/vm/swappiness")
    if value is None:
        return unknown("the kernel does not say")
    if not look.meminfo.get("SwapTotal"):
        return good(f"{value}, without swap")
    return judged(value <= SWAPPY, str(value))


def _available(look: Look) -> Finding:
    available, total = look.meminfo.get("MemAvailable"), look.machine.memory_bytes
    if available is None or not total:
        return unknown("the kernel does not say")
    # A container may be allowed less than its host has.
    available = min(available, total)
    return judged(available >= FREE * total, _share(available, total))


def _huge_pages(look: Look) -> Finding:
    size = look.meminfo.get("Hugepagesize", 0)
    total, free = look.meminfo.get("HugePages_Total"), look.meminfo.get("HugePages_Free", 0)
    if total is None:
        return unknown("the kernel does not say")
    if not total:
        return good("none reserved")
    return judged(free < total, f"{_share(free * size, total * size)} unused")


def _thp(look: Look) -> Finding:
    value = look.tree.chosen("/sys/kernel/mm/transparent_hugepage/enabled")
    return judged(value != "always", value) if value else unknown("the kernel has none")


def _numa_balancing(look: Look) -> Finding:
    value = look.tree.number("/proc/sys/kernel/numa_balancing")
    nodes = look.machine.numa_nodes or 1
    if nodes == 1:
        return good("one NUMA node")
    if value is None:
        return unknown("the kernel does not say")
    return judged(value == 0, f"{'on' if value else 'off'}, {nodes} NUMA nodes")


def _zone_reclaim(look: Look) -> Finding:
    value = look.tree.number("/proc/sys/vm/zone_reclaim_mode")
    return unknown("the kernel has none") if value is None else judged(value == 0, str(value))


def _errors(look: Look, kind: str) -> Finding:
    counts = memory_errors(look.tree)
    if not counts:
        return unknown("nothing counts them")
    count = sum(number for name, number in counts.items() if name.endswith(kind))
    return good("none since boot") if count == 0 else bad(f"{count} since boot")


CHECKS = (
    Check(
        "swapping",
        Level.REFUSE,
        "A machine that swaps measures its swap device.",
        "end what fills the memory (ps aux --sort -rss), or lower the workload's rows",
        _swapping,
    ),
    Check(
        "memory_broken",
        Level.REFUSE,
        "Memory lost data that it could not correct, so nothing that is measured can be believed.",
        "replace the module that edac-util -v names",
        lambda look: _errors(look, "ue"),
    ),
    Check(
        "memory_errors",
        Level.WARN,
        "Correcting errors takes time, and a module that begins to has often not long to live.",
        "replace the module that edac-util -v names",
        lambda look: _errors(look, "ce"),
    ),
    Check(
        "memory_available",
        Level.WARN,
        "The buffers of a DBMS are made for 70 % of the memory; with less there, they swap or"
        " push files out.",
        "end what uses memory (ps aux --sort -rss)",
        _available,
    ),
    Check(
        "swap",
        Level.WARN,
        "What is in swap is read back in the middle of a measurement.",
        f'{_TUNE}, with [tune] swap = "off"',
        _swap,
    ),
    Check(
        "swappiness",
        Level.WARN,
        "The kernel swaps out the buffers of a DBMS to keep more of its files.",
        f"{_TUNE}, with [tune] swappiness = 1",
        _swappiness,
    ),
    Check(
        "thp",
        Level.WARN,
        "Huge pages for all are made in the middle of queries, as far as memory is in one piece,"
        " which is another thing every night.",
        _TUNE,
        _thp,
    ),
    Check(
        "huge_pages",
        Level.WARN,
        "Reserved huge pages that no one uses are memory that no one has.",
        "sysctl vm.nr_hugepages=0",
        _huge_pages,
    ),
    Check(
        "numa_balancing",
        Level.WARN,
        "The kernel unmaps pages to see who uses them, and moves them while queries run.",
        _TUNE,
        _numa_balancing,
    ),
    Check(
        "zone_reclaim",
        Level.WARN,
        "A NUMA node that is full throws away its file cache while others have room.",
        "sysctl vm.zone_reclaim_mode=0",
        _zone_reclaim,
    ),
)
"""The checks of this group."""
