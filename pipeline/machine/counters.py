"""Kernel counters: two readings show what happened in between.

Each reading is of one moment, through a :class:`Tree`. A machine without a counter has no reading
of it (None, or a missing key), which differs from a count of zero.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from pipeline.machine.kernel_files import Tree

CPU = "/sys/devices/system/cpu"
"""The folder of the kernel's files about processors."""


class Ticks(NamedTuple):
    """Clock ticks of one processor or of all since boot, by use.

    ``steal`` is the time that the hypervisor gave to other machines while this machine had work.
    ``interrupts`` is the time in interrupts, which no process is charged for.
    """

    total: int
    idle: int
    steal: int
    interrupts: int = 0

    @property
    def worked(self) -> int:
        """The time in which processes and threads of the kernel ran."""
        return self.total - self.idle - self.steal - self.interrupts


class Shares(NamedTuple):
    """Shares of the processors' time between two readings, from 0 to 1: busy, and stolen."""

    busy: float
    steal: float


def ticks(tree: Tree) -> Ticks | None:
    """Return the clock ticks of all processors since boot; None if /proc/stat lacks them."""
    found = re.match(r"cpu ((?:\s*\d+){8,})", tree.read("/proc/stat"))
    return None if found is None else _ticks(found[1])


def ticks_by_processor(tree: Tree) -> dict[int, Ticks]:
    """Return the clock ticks of each processor since boot; empty if the kernel reports none."""
    found = re.findall(r"^cpu(\d+) ((?:[ ]*\d+){8,})", tree.read("/proc/stat"), re.MULTILINE)
    return {int(number): _ticks(fields) for number, fields in found}


def _ticks(fields: str) -> Ticks:
    # The guest fields that follow are included in user and nice.
    user, nice, system, idle, wait, irq, soft, steal = map(int, fields.split()[:8])
    total = user + nice + system + idle + wait + irq + soft + steal
    return Ticks(total, idle + wait, steal, irq + soft)


def shares(before: Ticks, after: Ticks) -> Shares:
    """Return the busy and the stolen share of the processors' time between two readings."""
    passed = after.total - before.total
    if passed <= 0:
        return Shares(0.0, 0.0)
    # The kernel documents that its counter of waiting for storage may decrease.
    idle = max(0, after.idle - before.idle)
    steal = max(0, after.steal - before.steal)
    return Shares(max(0.0, (passed - idle - steal) / passed), steal / passed)


def passed(before: Ticks, after: Ticks) -> Ticks:
    """Return the ticks between two readings; the counter of waiting may decrease."""
    return Ticks(*(max(0, now - then) for then, now in zip(before, after, strict=True)))


def throttled(tree: Tree) -> dict[str, int]:
    """Return how often each processor was slowed down by heat since boot.

    A key is the processor with its hot part: ``cpu3 core`` or ``cpu0 package``. Empty where the
    counters are missing: only Intel's processors on real hardware have them.
    """
    counts = {}
    for path in tree.glob(f"{CPU}/cpu[0-9]*/thermal_throttle/*_throttle_count"):
        count = tree.number(path)
        if count is not None:
            cpu, _, name = path.split("/")[-3:]
            counts[f"{cpu} {name.removesuffix('_throttle_count')}"] = count
    return counts


def increases(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return the counters that grew between two readings, and by how much."""
    grew = {name: after[name] - before[name] for name in after if name in before}
    return {name: by for name, by in grew.items() if by > 0}


def memory_events(tree: Tree) -> dict[str, int]:
    """Return how many pages were swapped and how many processes ran out of memory, since boot."""
    wanted = {"pswpin", "pswpout", "oom_kill"}
    pairs = (line.split() for line in tree.read("/proc/vmstat").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] in wanted}


def memory_errors(tree: Tree) -> dict[str, int]:
    """Return how many memory errors were corrected, and how many were not, since boot (ECC).

    The keys end with ce for corrected errors, and with ue for uncorrectable ones. Empty without
    such counters.
    """
    counts = {}
    for path in tree.glob("/sys/devices/system/edac/mc/mc[0-9]*/[cu]e_count"):
        count = tree.number(path)
        if count is not None:
            controller, name = path.split("/")[-2:]
            counts[f"{controller} {name.removesuffix('_count')}"] = count
    return counts


class Temperature(NamedTuple):
    """What a temperature sensor shows in degrees Celsius, and the maker's limit."""

    degrees: float
    limit: float | None


def temperatures(tree: Tree) -> dict[str, Temperature]:
    """Return the temperatures of all sensors of the machine, by name.

    A sensor's limit is the lower of its ``max`` and ``crit``. Several devices of a kind are
    distinguished by the number of the sensor's folder: ``nvme hwmon2 Composite``.
    """
    devices = tree.glob("/sys/class/hwmon/hwmon[0-9]*/name")
    kinds = [tree.read(path) for path in devices]
    found = {}
    for device, kind in zip(devices, kinds, strict=True):
        folder = device.removesuffix("/name")
        named = kind if kinds.count(kind) == 1 else f"{kind} {folder.rpartition('/')[2]}"
        for path in tree.glob(f"{folder}/temp[0-9]*_input"):
            sensor = path.removesuffix("_input")
            value = tree.number(path)
            if value is None:
                continue
            label = tree.read(f"{sensor}_label") or sensor.rpartition("/")[2]
            limits = [tree.number(f"{sensor}_{name}") for name in ("max", "crit")]
            # Firmware without a limit reports 0 or an absurd value.
            sane = [limit / 1000 for limit in limits if limit and 0 < limit < 150_000]
            found[f"{named} {label}"] = Temperature(value / 1000, min(sane, default=None))
    return found


def clock_ticks() -> int:
    """Return the kernel's clock ticks per second."""
    return os.sysconf("SC_CLK_TCK")
