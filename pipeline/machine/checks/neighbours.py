"""Machine checks for other programs and users that would disturb a measurement."""

from __future__ import annotations

import re

from pipeline.machine.checks.base import (
    ALL,
    Check,
    CheckFinding,
    Look,
    Severity,
    bad,
    good,
    judged,
    unknown,
)
from pipeline.machine.counters import clock_ticks

BUSY = 0.1
"""The share of a processor's time that other processes may use. A server that is idle except for
its daemons uses less than 2 %; a client on that processor loses more throughput than this share."""

STEAL = 0.02
"""The share of a processor's time that the hypervisor may give to other machines: twice the share
observed on a server with dedicated virtual processors."""

_TIMERS = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dnf-makecache.timer",
    "man-db.timer",
    "mdcheck_start.timer",
    "plocate-updatedb.timer",
)
"""Timers of distributions that start once a day or a month, at any time, and keep a disk and a
processor busy for minutes: updates, indexing, the check of a RAID."""

_TUNE = "nightshift tune set"


def _load(look: Look) -> CheckFinding:
    if not look.shares:
        return unknown("not reported by the kernel")
    worst = max(look.shares, key=lambda number: look.shares[number].busy)
    busy = look.shares[worst].busy
    reported = f"{100 * busy:.0f} % of {_name(worst)}"
    if busy <= BUSY:
        return good(reported)
    return bad(reported + _busiest(look))


def _name(processor: int) -> str:
    return "the processors" if processor == ALL else f"processor {processor}"


def _busiest(look: Look) -> str:
    """Return the process that used most processor time between the two snapshots."""
    before, after = (moment.processes for moment in look.moments)
    took = {key: process.own - before[key].own for key, process in after.items() if key in before}
    most = max(took, key=lambda key: took[key], default=None)
    if most is None or took[most] <= 0:
        return ""
    seconds = took[most] / clock_ticks()
    share = 100 * seconds / look.system.interval
    return f"; {after[most].name} ({most[0]}) {share:.0f} % of one"


def _steal(look: Look) -> CheckFinding:
    if not look.shares:
        return unknown("not reported by the kernel")
    worst = max(look.shares, key=lambda number: look.shares[number].steal)
    stolen = look.shares[worst].steal
    return judged(stolen <= STEAL, f"{100 * stolen:.1f} % of {_name(worst)}")


def _virtual(look: Look) -> CheckFinding:
    return judged(not look.guest, look.machine.virtualised)


def _limits(look: Look) -> CheckFinding:
    """Check whether a container or service limits our processor time."""
    tree = look.tree
    own = re.search(r"^0::/(.*)$", tree.read("/proc/self/cgroup"), re.MULTILINE)
    parts = own[1].split("/") if own and own[1] else []
    folders = ["/".join(["/sys/fs/cgroup", *parts[:depth]]) for depth in range(len(parts) + 1)]
    for folder in folders:
        quota, _, period = tree.read(f"{folder}/cpu.max").partition(" ")
        if quota.isdigit() and period.isdigit():
            return bad(f"{int(quota) / int(period):.1f} processors")
    older = "/sys/fs/cgroup/cpu/cpu.cfs_"
    allowed, period_us = tree.number(f"{older}quota_us"), tree.number(f"{older}period_us")
    if allowed is not None and allowed > 0 and period_us:
        return bad(f"{allowed / period_us:.1f} processors")
    return good("none")


def _timers(look: Look) -> CheckFinding:
    if not look.tree.path("/run/systemd/system").is_dir():
        return unknown("no systemd runs here")
    states = look.system.program_output(["systemctl", "is-active", *_TIMERS]).split()
    if len(states) != len(_TIMERS):
        return unknown("systemd does not answer")
    active = [unit for unit, state in zip(_TIMERS, states, strict=True) if state == "active"]
    return bad(", ".join(active)) if active else good("none")


CHECKS = (
    Check(
        "load",
        Severity.WARN,
        "Other processes take processor time from the DBMS and displace its data from caches.",
        "end the other processes (see top), or let nights wait for them: [preflight] wait",
        _load,
    ),
    Check(
        "steal",
        Severity.WARN,
        "The hypervisor gives processor time of this machine to other guests during queries.",
        "measure on a server with dedicated processors, for example of type CCX",
        _steal,
    ),
    Check(
        "limits",
        Severity.WARN,
        "When a processor quota is used up, all threads stop until the next period.",
        "start the container or service without a processor limit",
        _limits,
    ),
    Check(
        "timers",
        Severity.WARN,
        "Timers start updates and indexing at any time, also during a night.",
        f'{_TUNE}, with [tune] stop_timers = ["apt-daily.timer", ...]',
        _timers,
    ),
    Check(
        "virtual",
        Severity.IGNORE,
        "On a virtual machine, other guests and the hypervisor affect every result: prefer CPU "
        "per operation.",
        "measure on a dedicated server",
        _virtual,
    ),
)
"""All machine checks for other programs and users."""
