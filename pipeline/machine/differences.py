"""Which facts differ between two fingerprints of a machine."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.machine.fingerprint import UNKNOWN, memory_gb
from pipeline.machine.storage import show_disk
from pipeline.model import Disk, Machine


class FingerprintDifference(NamedTuple):
    """One fact that differs between two fingerprints: name, old value, new value.

    For a new or a removed disk, ``before`` or ``after`` is empty.
    """

    what: str
    before: str
    after: str

    def __str__(self) -> str:
        """Return the difference in one line: ``kernel 6.1.0-30 -> 6.1.0-31``."""
        return f"{self.what} {self.before or 'none'} -> {self.after or 'none'}"


def differences(before: Machine, after: Machine) -> list[FingerprintDifference]:
    """Return what differs between two fingerprints of a machine, hardware first.

    A fact that one of them lacks is no difference: an older nightshift collected fewer facts, and
    some need root. The name of the machine class is ignored. Memory is compared by its installed
    size, because a kernel reserves a varying part of it.
    """
    old, new = _facts(before), _facts(after)
    found = [
        FingerprintDifference(what, old[what], new[what])
        for what in {**old, **new}
        if what in old and what in new and old[what] != new[what]
    ]
    return found + _disks(before.disks, after.disks)


def _facts(machine: Machine) -> dict[str, str]:
    """Return the known facts of a machine's fingerprint as texts, except its disks."""
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


def _disks(before: tuple[Disk, ...], after: tuple[Disk, ...]) -> list[FingerprintDifference]:
    """Return what differs between the disks of two fingerprints."""
    if not before or not after:
        return []
    old = {disk.name: show_disk(disk) for disk in before}
    new = {disk.name: show_disk(disk) for disk in after}
    return [
        FingerprintDifference(f"disk {name}", old.get(name, ""), new.get(name, ""))
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]
