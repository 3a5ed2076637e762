"""The storage under a folder: the mounted file system, and every disk below it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline.machine.kernel_files import Tree
from pipeline.model import Disk

BLOCK = "/sys/class/block"
"""The folder of the kernel's files about disks and partitions."""

SECTOR = 512
"""Bytes of a sector in the kernel's count of a disk's size, whatever sectors the disk itself
has."""


class Mount(NamedTuple):
    """A mounted file system: its kind, device, mount point and options."""

    kind: str
    device: str
    point: str
    options: tuple[str, ...]


def mounted(folder: Path, mountinfo: str) -> Mount | None:
    """Return the mounted file system that a folder is in, from /proc/self/mountinfo.

    The innermost mount point counts, and of several mounts there the last. ``folder`` must be
    absolute and without symbolic links.
    """
    best, found = -1, None
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields, rest = before.split(), after.split()
        if len(fields) < 6 or len(rest) < 2:
            continue
        # Spaces and similar characters are octal escapes.
        point = Path(re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), fields[4]))
        if folder.is_relative_to(point) and len(point.parts) >= best:
            # Options of this mount and of its file system: read-only and discard may be in either.
            options = (*fields[5].split(","), *(rest[2].split(",") if len(rest) > 2 else ()))
            kept = tuple(sorted(set(options)))
            best, found = len(point.parts), Mount(rest[0], rest[1], str(point), kept)
    return found


def mount_of(tree: Tree, folder: Path) -> Mount | None:
    """Return the mounted file system that a folder is in; None if it is unknown."""
    return mounted(folder.resolve(), tree.read("/proc/self/mountinfo"))


def disks_of(tree: Tree, mount: Mount | None) -> tuple[Disk, ...]:
    """Return the disks below a mounted file system, ordered by name."""
    if mount is None:
        return ()
    # The name of a volume, as /dev/mapper/data, links to its device.
    name = tree.path(mount.device).resolve().name
    found = {disk.name: disk for disk in map(_disk, _leaves(tree.path(BLOCK) / name))}
    return tuple(found[name] for name in sorted(found))


def _leaves(block: Path) -> Iterator[Path]:
    """Yield the disks that a device consists of."""
    block = block.resolve()
    if not block.exists():
        return
    below = sorted((block / "slaves").glob("*"))
    for part in below:
        yield from _leaves(part)
    if not below:
        # A partition has no queue; the parent folder is its disk.
        yield block if (block / "queue").exists() else block.parent


def _disk(block: Path) -> Disk:
    tree = Tree(block)
    sectors = tree.number("size")
    spins = {"0": False, "1": True}.get(tree.read("queue/rotational"))
    # NVMe has firmware_rev, SCSI and SATA have rev.
    firmware = tree.read("device/firmware_rev") or tree.read("device/rev")
    return Disk(
        name=block.name,
        model=tree.read("device/model"),
        firmware=firmware,
        size_bytes=None if sectors is None else sectors * SECTOR,
        rotational=spins,
        scheduler=tree.chosen("queue/scheduler"),
        write_cache=tree.read("queue/write_cache"),
    )


def show_disk(disk: Disk) -> str:
    """Describe a disk in one line, without its name."""
    size = "" if disk.size_bytes is None else f"{disk.size_bytes / 1e9:.0f} GB"
    firmware = f"firmware {disk.firmware}" if disk.firmware else ""
    spins = {True: "rotational", False: "ssd", None: ""}[disk.rotational]
    scheduler = f"scheduler {disk.scheduler}" if disk.scheduler else ""
    parts = (disk.model, firmware, size, spins, scheduler, disk.write_cache)
    return ", ".join(part for part in parts if part) or "unknown"
