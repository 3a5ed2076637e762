"""What changed on a machine between two of its fingerprints."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.machine.fingerprint import UNKNOWN, memory_gb
from pipeline.machine.storage import show_disk
from pipeline.model import Disk, Machine


class Difference(NamedTuple):
    """One fact that is another than before: ``kernel``, ``6.1.0-30``, ``6.1.0-31``.

    Where a disk came or went, ``before`` or ``after`` is empty.
    """

    what: str
    before: str
    after: str

    def __str__(self) -> str:
        """Say it in a line: ``kernel 6.1.0-30 -> 6.1.0-31``."""
        return f"{self.what} {self.before or 'none'} -> {self.after or 'none'}"


def differences(before: Machine, after: Machine) -> list[Difference]:
    """Return in what two fingerprints differ, what a machine is before how it is set.

    A fact that one of them does not know is no difference: an older nightshift asked less, and
    without root less is answered. What a machine class is called is not of the machine. Memory
    counts as installed, of which a kernel keeps now more and now less for itself.
    """
    old, new = _facts(before), _facts(after)
    found = [
        Difference(what, old[what], new[what])
        for what in {**old, **new}
        if what in old and what in new and old[what] != new[what]
    ]
    return found + _disks(before.disks, after.disks)


def _facts(machine: Machine) -> dict[str, str]:
    """Return what a fingerprint knows, in words, without its disks."""
    facts = {
        "hostname": machine.hostname,
        "processor": machine.cpu_model,
        "microcode": machine.microcode,
        "sockets": _count(machine.sockets),
        "physical cores": _count(machine.physical_cores),
        "processors": _count(machine.cores),
        "NUMA nodes": _count(machine.numa_nodes),
        "memory": f"{memory_gb(machine.memory_bytes)} GB" if machine.memory_bytes else "",
        "memory speed": machine.memory_speed,
        "kernel": machine.kernel,
        "kernel parameters": machine.cmdline,
        "operating system": machine.operating_system,
        "virtualised": machine.virtualised,
        "storage": machine.storage,
        "mount": machine.mount,
        **machine.software,
        **{name.replace("_", " "): value for name, value in machine.settings.items()},
    }
    return {what: value for what, value in facts.items() if value not in ("", UNKNOWN)}


def _count(number: int | None) -> str:
    return str(number or "")


def _disks(before: tuple[Disk, ...], after: tuple[Disk, ...]) -> list[Difference]:
    """Return how the disks differ; nothing if either fingerprint knows of none."""
    if not before or not after:
        return []
    old = {disk.name: show_disk(disk) for disk in before}
    new = {disk.name: show_disk(disk) for disk in after}
    return [
        Difference(f"disk {name}", old.get(name, ""), new.get(name, ""))
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]
