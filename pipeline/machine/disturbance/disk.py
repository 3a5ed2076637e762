"""Detect disks that became too hot, or whose connection became slower, during a step."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.machine.counters import temperatures
from pipeline.machine.disturbance.base import Ending, Scene
from pipeline.machine.kernel_files import Tree
from pipeline.model import ProbeSample

_DISKS = ("nvme", "drivetemp")
"""hwmon's names for sensors of disks: of NVMe, and of SATA with the kernel's driver drivetemp."""


def watch_temperature(scene: Scene) -> Ending:
    """Watch whether a disk is so hot at the end of the step that it may slow itself down."""

    def ending(_: Sequence[ProbeSample]) -> str:
        for name, found in temperatures(scene.tree).items():
            limit = min(found.limit or scene.limits.disk_celsius, scene.limits.disk_celsius)
            if name.split()[0] in _DISKS and found.degrees > limit:
                return (
                    f"the disk {name} was at {found.degrees:.0f} °C, above the limit of "
                    f"{limit:.0f} °C"
                )
        return ""

    return ending


def watch_link(scene: Scene) -> Ending:
    """Watch whether the PCIe link of an NVMe disk loses speed or lanes, a sign of bad contacts."""
    before = _links(scene.tree)

    def ending(_: Sequence[ProbeSample]) -> str:
        after = _links(scene.tree)
        for name, (speed, lanes) in before.items():
            now_speed, now_lanes = after.get(name, (speed, lanes))
            if now_speed < speed or now_lanes < lanes:
                return (
                    f"the link of the disk {name} fell from {speed:g} GT/s x{lanes} to "
                    f"{now_speed:g} GT/s x{now_lanes}"
                )
        return ""

    return ending


def _links(tree: Tree) -> dict[str, tuple[float, int]]:
    """Return how fast each NVMe disk is connected: GT/s and number of lanes."""
    found = {}
    for path in tree.glob("/sys/class/nvme/nvme[0-9]*/device/current_link_speed"):
        speed = re.match(r"\d+(\.\d+)?", tree.read(path))
        lanes = tree.number(path.replace("_speed", "_width"))
        if speed is not None and lanes is not None:
            found[path.split("/")[4]] = float(speed[0]), lanes
    return found
