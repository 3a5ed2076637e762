"""Checks of who else uses this machine, or is about to."""

from __future__ import annotations

import re

from pipeline.machine.checks.base import Check, Finding, Level, Look, bad, good, judged, unknown
from pipeline.machine.readings import clock_ticks

BUSY = 0.1
"""Share of the processors' time that others may take. A server that is idle but for its daemons
has less than 2 %; a DBMS with a client for each processor loses more throughput than this."""

STEAL = 0.02
"""Share of the time that the hypervisor may give to others: twice what a server with virtual
processors of its own was seen to have."""

_TIMERS = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dnf-makecache.timer",
    "man-db.timer",
    "mdcheck_start.timer",
    "plocate-updatedb.timer",
)
"""Timers of distributions that begin once a day or a month, at any time, and keep a disk and a
processor busy for minutes: updates, indexing, the check of a RAID."""

_TUNE = "nightshift tune set"


def _load(look: Look) -> Finding:
    if look.shares is None:
        return unknown("the kernel does not say")
    told = f"{100 * look.shares.busy:.0f} % of the processors"
    if look.shares.busy <= BUSY:
        return good(told)
    return bad(told + _busiest(look))


def _busiest(look: Look) -> str:
    """Name the process that took most time between the two moments, if it shows in ticks."""
    before, after = (moment.processes for moment in look.moments)
    took = {
        key: process.ticks - before[key].ticks for key, process in after.items() if key in before
    }
    most = max(took, key=lambda key: took[key], default=None)
    if most is None or took[most] <= 0:
        return ""
    seconds = took[most] / clock_ticks()
    share = 100 * seconds / look.system.interval
    return f"; {after[most].name} ({most[0]}) {share:.0f} % of one"


def _steal(look: Look) -> Finding:
    if look.shares is None:
        return unknown("the kernel does not say")
    return judged(look.shares.steal <= STEAL, f"{100 * look.shares.steal:.1f} %")


def _virtual(look: Look) -> Finding:
    return judged(not look.guest, look.machine.virtualised)


def _limits(look: Look) -> Finding:
    """Look for a share of the processors that a container or a service may not exceed."""
    tree = look.tree
    own = re.search(r"^0::/(.*)$", tree.read("/proc/self/cgroup"), re.MULTILINE)
    parts = own[1].split("/") if own and own[1] else []
    folders = ["/".join(["/sys/fs/cgroup", *parts[:depth]]) for depth in range(len(parts) + 1)]
    for folder in folders:
        quota, _, period = tree.read(f"{folder}/cpu.max").partition(" ")
        if quota.isdigit() and period.isdigit():
            return bad(f"{int(quota) / int(period):.1f} processors of time")
    older = "/sys/fs/cgroup/cpu/cpu.cfs_"
    allowed, period_us = tree.number(f"{older}quota_us"), tree.number(f"{older}period_us")
    if allowed is not None and allowed > 0 and period_us:
        return bad(f"{allowed / period_us:.1f} processors of time")
    return good("none")


def _timers(look: Look) -> Finding:
    if not look.tree.path("/run/systemd/system").is_dir():
        return unknown("no systemd runs here")
    states = look.system.said(["systemctl", "is-active", *_TIMERS]).split()
    if len(states) != len(_TIMERS):
        return unknown("systemd does not answer")
    active = [unit for unit, state in zip(_TIMERS, states, strict=True) if state == "active"]
    return bad(", ".join(active)) if active else good("none")


CHECKS = (
    Check(
        "load",
        Level.WARN,
        "What others compute is missing in the throughput, and pushes data out of caches.",
        "end what runs (top); [preflight] wait lets a night wait for it",
        _load,
    ),
    Check(
        "steal",
        Level.WARN,
        "The hypervisor gives this machine's processors to others in the middle of queries.",
        "measure on a server with processors of its own, dedicated or of type CCX",
        _steal,
    ),
    Check(
        "limits",
        Level.WARN,
        "A quota stops all threads for the rest of a period as soon as it is used up.",
        "start the container or the service without a limit of its processors",
        _limits,
    ),
    Check(
        "timers",
        Level.WARN,
        "Updates and indexing that begin at any time will begin in the middle of a night.",
        f'{_TUNE}, with [tune] stop_timers = ["apt-daily.timer", ...]',
        _timers,
    ),
    Check(
        "virtual",
        Level.IGNORE,
        "Neighbours and the hypervisor are part of every number, and ratios shrink: trust CPU per"
        " operation more.",
        "measure on a dedicated server",
        _virtual,
    ),
)
"""The checks of this group."""
