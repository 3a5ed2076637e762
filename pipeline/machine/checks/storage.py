"""Machine checks of the disks that the databases are on."""

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
from pipeline.model import Disk

_TUNE = "nightshift tune set"

FULL = 10**9
"""Free bytes below which a disk counts as full. Even a small run needs more for database and
log."""

FEW_INODES = 10_000
"""Free inodes below which a file system counts as full: a database of many tables has that many
files."""

ROOMY = 0.1
"""The share of a disk that must be free: an almost full SSD collects garbage during writes, and
file systems need longer to find space."""

WORN = 90
"""Percent of its rated writes from which a disk counts as worn out."""

_ELSEWHERE = re.compile(r"nfs\d?|cifs|smb3?|9p|ceph|glusterfs|lustre|afs|fuse\..*|virtiofs|overlay")
"""File systems whose data is behind a network, another process or another file system."""


def _full(look: Look) -> CheckFinding:
    room = look.system.space(look.system.folder)
    if room is None:
        return unknown("not reported by the file system")
    if room.inodes is not None and room.inodes < FEW_INODES:
        return bad(f"{room.inodes} inodes free")
    return judged(room.free >= FULL, f"{room.free / 1e9:.1f} GB free")


def _room(look: Look) -> CheckFinding:
    room = look.system.space(look.system.folder)
    if room is None or not room.total:
        return unknown("not reported by the file system")
    share = room.free / room.total
    return judged(share >= ROOMY, f"{100 * share:.0f} % of {room.total / 1e9:.0f} GB free")


def _file_system(look: Look) -> CheckFinding:
    if look.mount is None:
        return unknown("not reported by the kernel")
    kind = look.mount.kind
    elsewhere = kind == "tmpfs" or _ELSEWHERE.fullmatch(kind)
    return judged(not elsewhere, f"{kind} on {look.mount.point}")


def _atime(look: Look) -> CheckFinding:
    if look.mount is None:
        return unknown("not reported by the kernel")
    reported = {"noatime", "relatime"} & set(look.mount.options)
    return judged("noatime" in reported, ", ".join(sorted(reported)) or "strictatime")


def _trim(look: Look) -> CheckFinding:
    if look.mount is None:
        return unknown("not reported by the kernel")
    if not any(disk.rotational is False for disk in look.disks):
        return good("not needed here")
    if "discard" in look.mount.options:
        return good("discard")
    answer = look.system.program_output(["systemctl", "is-active", "fstrim.timer"]).split()
    return (
        good("fstrim.timer")
        if answer[:1] == ["active"]
        else bad("neither the mount option discard nor the timer fstrim")
    )


def _scheduler(look: Look) -> CheckFinding:
    fast = [disk for disk in look.disks if disk.rotational is False and disk.scheduler]
    if not fast:
        return unknown("not reported by any SSD")
    reported = ", ".join(f"{disk.scheduler} on {disk.name}" for disk in fast)
    return judged(all(disk.scheduler == "none" for disk in fast), reported)


def _is_virtual(disk: Disk) -> bool:
    """Return whether a disk is virtual, so that the kind of its medium is unknown."""
    return disk.name.startswith(("vd", "xvd")) or "QEMU" in disk.model


def _rotational(look: Look) -> CheckFinding:
    real = [disk for disk in look.disks if not _is_virtual(disk) and disk.rotational is not None]
    if not real:
        return unknown("not reported by virtual disks")
    spinning = [disk.name for disk in real if disk.rotational]
    return bad(f"{', '.join(spinning)} is a rotating disk") if spinning else good("no")


def _write_cache(look: Look) -> CheckFinding:
    real = [disk for disk in look.disks if not _is_virtual(disk) and disk.write_cache]
    if not real:
        return unknown("not reported by any disk")
    volatile = [disk.name for disk in real if disk.write_cache == "write back"]
    return bad(f"volatile in {', '.join(volatile)}") if volatile else good("safe or none")


def _health(look: Look) -> CheckFinding:
    reported = look.smart
    if not reported:
        return unknown("unknown; smartctl as root can read it")
    ill = [name for name, answer in reported.items() if not answer["smart_status"]["passed"]]
    return bad(f"{', '.join(ill)} reports a failure") if ill else good("passed")


def _wear(look: Look) -> CheckFinding:
    wear = {
        name: log["percentage_used"]
        for name, answer in look.smart.items()
        if isinstance(log := answer.get("nvme_smart_health_information_log"), dict)
        and isinstance(log.get("percentage_used"), int)
    }
    if not wear:
        return unknown("unknown; smartctl as root can read it for NVMe")
    name, used = max(wear.items(), key=lambda item: item[1])
    return judged(used < WORN, f"{name} {used} % worn")


def _raid(look: Look) -> CheckFinding:
    status = look.tree.read("/proc/mdstat")
    if degraded := re.findall(r"^(md\S*) : .*\n.*\[U*_[U_]*\]", status, re.MULTILINE):
        return bad(f"{', '.join(degraded)} lacks a disk")
    if busy := re.search(r"(resync|recovery|reshape|check)\s*=\s*\S+", status):
        return bad(" ".join(busy[0].split()))
    arrays = re.findall(r"^(md\S*) : active", status, re.MULTILINE)
    return good(", ".join(arrays) or "none")


CHECKS = (
    Check(
        "disk_full",
        Severity.REFUSE,
        "Without free space a run fails, and the night ends.",
        "free some space, or set paths.cache in nightshift.toml to another disk",
        _full,
    ),
    Check(
        "disk_space",
        Severity.WARN,
        "A nearly full disk writes more slowly.",
        "free some space, or lower paths.builds_limit in nightshift.toml",
        _room,
    ),
    Check(
        "disk_health",
        Severity.WARN,
        "A failing disk repeats reads and writes, and may lose results.",
        "replace the disk; smartctl -a shows the fault",
        _health,
    ),
    Check(
        "disk_wear",
        Severity.WARN,
        "A worn-out disk writes more slowly every night.",
        "replace the disk; controls then show the effect of the replacement",
        _wear,
    ),
    Check(
        "raid",
        Severity.WARN,
        "A degraded or resynchronising RAID array is slower.",
        "replace the missing disk, or wait for the resync to end (cat /proc/mdstat)",
        _raid,
    ),
    Check(
        "file_system",
        Severity.WARN,
        "On a memory, network or overlay file system, results depend on that file system and "
        "not on the disk.",
        "set paths.cache in nightshift.toml to a folder on a local disk",
        _file_system,
    ),
    Check(
        "scheduler",
        Severity.WARN,
        "An SSD orders requests itself; an I/O scheduler adds time and variance.",
        _TUNE,
        _scheduler,
    ),
    Check(
        "trim",
        Severity.IGNORE,
        "An SSD without discard writes more slowly over the months.",
        "systemctl enable --now fstrim.timer, or nightshift tune set before nights",
        _trim,
    ),
    Check(
        "atime",
        Severity.IGNORE,
        "With atime, reading a file also writes its access time.",
        "mount the file system with noatime",
        _atime,
    ),
    Check(
        "rotational",
        Severity.IGNORE,
        "A rotating disk hides effects that an SSD shows, and its speed depends on where data "
        "lies.",
        "set paths.cache in nightshift.toml to a folder on an SSD",
        _rotational,
    ),
    Check(
        "write_cache",
        Severity.IGNORE,
        "With a volatile write cache every commit waits for a flush, unlike on a server's SSD.",
        "compare only with machines that have the same kind of disk",
        _write_cache,
    ),
)
"""All machine checks of the disks."""
