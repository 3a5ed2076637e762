"""Checks of the storage under the databases."""

from __future__ import annotations

import re

from pipeline.machine.checks.base import Check, Finding, Level, Look, bad, good, judged, unknown
from pipeline.model import Disk

_TUNE = "nightshift tune set"

FULL = 10**9
"""Free bytes below which a disk is full: a small run has more than that in database and log."""

FEW_INODES = 10_000
"""Free inodes below which a file system is full: a database of many tables has that many files."""

ROOMY = 0.1
"""Share that has to be free: an SSD that is nearly full collects garbage while it is written to,
and file systems look longer for room."""

WORN = 90
"""Percent of its rated writes from which a disk is worn out."""

_ELSEWHERE = re.compile(r"nfs\d?|cifs|smb3?|9p|ceph|glusterfs|lustre|afs|fuse\..*|virtiofs|overlay")
"""File systems whose data is behind a network, another process or another file system."""


def _full(look: Look) -> Finding:
    room = look.system.space(look.system.folder)
    if room is None:
        return unknown("the file system does not say")
    if room.inodes is not None and room.inodes < FEW_INODES:
        return bad(f"{room.inodes} inodes free")
    return judged(room.free >= FULL, f"{room.free / 1e9:.1f} GB free")


def _room(look: Look) -> Finding:
    room = look.system.space(look.system.folder)
    if room is None or not room.total:
        return unknown("the file system does not say")
    share = room.free / room.total
    return judged(share >= ROOMY, f"{100 * share:.0f} % of {room.total / 1e9:.0f} GB free")


def _file_system(look: Look) -> Finding:
    if look.mount is None:
        return unknown("the kernel does not say")
    kind = look.mount.kind
    elsewhere = kind == "tmpfs" or _ELSEWHERE.fullmatch(kind)
    return judged(not elsewhere, f"{kind} on {look.mount.point}")


def _atime(look: Look) -> Finding:
    if look.mount is None:
        return unknown("the kernel does not say")
    told = {"noatime", "relatime"} & set(look.mount.options)
    return judged("noatime" in told, ", ".join(sorted(told)) or "strictatime")


def _trim(look: Look) -> Finding:
    if look.mount is None:
        return unknown("the kernel does not say")
    if not any(disk.rotational is False for disk in look.disks):
        return good("not needed here")
    if "discard" in look.mount.options:
        return good("discard")
    answer = look.system.said(["systemctl", "is-active", "fstrim.timer"]).split()
    return good("fstrim.timer") if answer[:1] == ["active"] else bad("neither discard nor a timer")


def _scheduler(look: Look) -> Finding:
    fast = [disk for disk in look.disks if disk.rotational is False and disk.scheduler]
    if not fast:
        return unknown("no SSD that says")
    told = ", ".join(f"{disk.scheduler} on {disk.name}" for disk in fast)
    return judged(all(disk.scheduler == "none" for disk in fast), told)


def _is_virtual(disk: Disk) -> bool:
    """Say whether a hypervisor made a disk up; what it says of its medium is made up, too."""
    return disk.name.startswith(("vd", "xvd")) or "QEMU" in disk.model


def _rotational(look: Look) -> Finding:
    real = [disk for disk in look.disks if not _is_virtual(disk) and disk.rotational is not None]
    if not real:
        return unknown("virtual disks do not say")
    spinning = [disk.name for disk in real if disk.rotational]
    return bad(f"{', '.join(spinning)} rotates") if spinning else good("no")


def _write_cache(look: Look) -> Finding:
    real = [disk for disk in look.disks if not _is_virtual(disk) and disk.write_cache]
    if not real:
        return unknown("no disk that says")
    volatile = [disk.name for disk in real if disk.write_cache == "write back"]
    return bad(f"volatile in {', '.join(volatile)}") if volatile else good("safe or none")


def _health(look: Look) -> Finding:
    told = look.smart
    if not told:
        return unknown("smartctl as root would tell")
    ill = [name for name, answer in told.items() if not answer["smart_status"]["passed"]]
    return bad(f"{', '.join(ill)} says that it fails") if ill else good("passed")


def _wear(look: Look) -> Finding:
    wear = {
        name: log["percentage_used"]
        for name, answer in look.smart.items()
        if isinstance(log := answer.get("nvme_smart_health_information_log"), dict)
        and isinstance(log.get("percentage_used"), int)
    }
    if not wear:
        return unknown("smartctl as root would tell, of NVMe")
    name, used = max(wear.items(), key=lambda item: item[1])
    return judged(used < WORN, f"{name} {used} % worn")


def _raid(look: Look) -> Finding:
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
        Level.REFUSE,
        "A run that finds no room ends in the middle, and so does the night.",
        "free some space, or set paths.cache in nightshift.toml to another disk",
        _full,
    ),
    Check(
        "disk_space",
        Level.WARN,
        "A disk that is nearly full writes slower than one with room.",
        "free some space, or lower paths.builds_limit in nightshift.toml",
        _room,
    ),
    Check(
        "disk_health",
        Level.WARN,
        "A disk that fails repeats reads and writes, and takes results with it when it ends.",
        "replace the disk; smartctl -a says what it suffers from",
        _health,
    ),
    Check(
        "disk_wear",
        Level.WARN,
        "A disk that is worn out writes slower, and a little slower every night.",
        "replace the disk, and let controls tell what that changes",
        _wear,
    ),
    Check(
        "raid",
        Level.WARN,
        "An array that lacks a disk, or reads all of itself, serves databases with the rest.",
        "cat /proc/mdstat; replace what is missing, or wait for it to end",
        _raid,
    ),
    Check(
        "file_system",
        Level.WARN,
        "Databases in memory, behind a network or in layers measure that, and not the disk.",
        "set paths.cache in nightshift.toml to a folder on a disk of its own",
        _file_system,
    ),
    Check(
        "scheduler",
        Level.WARN,
        "An SSD orders its requests itself; a scheduler before it adds time and variance.",
        _TUNE,
        _scheduler,
    ),
    Check(
        "trim",
        Level.IGNORE,
        "An SSD that is never told what is free writes slower every month.",
        "systemctl enable --now fstrim.timer, or nightshift tune set before nights",
        _trim,
    ),
    Check(
        "atime",
        Level.IGNORE,
        "Reading a file writes when it was read.",
        "mount the file system with noatime",
        _atime,
    ),
    Check(
        "rotational",
        Level.IGNORE,
        "A disk that rotates hides what an SSD would show, and varies with where data lies.",
        "set paths.cache in nightshift.toml to a folder on an SSD",
        _rotational,
    ),
    Check(
        "write_cache",
        Level.IGNORE,
        "With a volatile cache every commit waits for a flush, as it would not on a server's SSD.",
        "compare only with machines that have the same kind of disk",
        _write_cache,
    ),
)
"""The checks of this group."""
