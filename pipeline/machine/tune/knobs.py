"""Knobs: kernel settings of a machine that tuning can read, change and restore.

A name is the path of a kernel file, ``swap /dev/sda2`` or ``timer apt-daily.timer``.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

from pipeline.machine.tune.host import Host


class Knob(Protocol):
    """One setting of the machine that tuning can read and change."""

    def read(self) -> str:
        """Return the present value of the setting; empty if this machine does not have it."""

    def write(self, value: str) -> None:
        """Change the setting. Raises OSError if the machine refuses."""


class KernelFile(NamedTuple):
    """A setting that is a file in /proc or /sys."""

    path: str
    host: Host

    def read(self) -> str:
        """Return the value in the kernel's file."""
        return self.host.tree.chosen(self.path)

    def write(self, value: str) -> None:
        """Write a value to the kernel's file. Raises OSError."""
        # Fail if the file is missing, instead of creating it.
        self.host.tree.path(self.path).stat()
        self.host.tree.write(self.path, f"{value}\n")


OFF, AUTO = "off", "auto"
"""Values of a swap device: not in use; in use with a priority that the kernel chose."""


class Swap(NamedTuple):
    """A swap device as a setting; its value is its priority, ``auto`` or ``off``."""

    device: str
    host: Host

    def read(self) -> str:
        """Return the priority of the swap device, ``auto`` or ``off``."""
        return swaps(self.host).get(self.device, OFF)

    def write(self, value: str) -> None:
        """Enable the swap device with a priority, or disable it. Raises OSError."""
        if value == OFF:
            self.host.run(["swapoff", self.device])
        elif value == AUTO:
            self.host.run(["swapon", self.device])
        else:
            self.host.run(["swapon", "--priority", value, self.device])


def swaps(host: Host) -> dict[str, str]:
    """Return the swap devices with their priorities, the last used first.

    Priorities that the kernel chose are negative and descend. Disabling devices from the lowest and
    enabling them from the highest restores the order.
    """
    rows = [line.split() for line in host.tree.read("/proc/swaps").splitlines()[1:]]
    used = sorted((int(row[4]), _unescaped(row[0])) for row in rows if len(row) >= 5)
    return {device: str(priority) if priority >= 0 else AUTO for priority, device in used}


def _unescaped(name: str) -> str:
    """Decode a file name in /proc, where a space is written as a backslash and 040."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), name)


ACTIVE, INACTIVE = "active", "inactive"


class Timer(NamedTuple):
    """A systemd timer as a setting: ``active`` or ``inactive``."""

    unit: str
    host: Host

    def read(self) -> str:
        """Return whether the systemd timer is active; empty if there is no such timer."""
        asked = ["--property=LoadState", "--property=ActiveState"]
        try:
            shown = self.host.run(["systemctl", "show", *asked, self.unit])
        except OSError:
            return ""
        properties = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
        return properties.get("ActiveState", "") if properties.get("LoadState") == "loaded" else ""

    def write(self, value: str) -> None:
        """Start or stop the systemd timer. Raises OSError."""
        self.host.run(["systemctl", "start" if value == ACTIVE else "stop", self.unit])


def find_knob(name: str, host: Host) -> Knob:
    """Return the setting of the machine with this name."""
    if name.startswith("swap "):
        return Swap(name.removeprefix("swap "), host)
    if name.startswith("timer "):
        return Timer(name.removeprefix("timer "), host)
    return KernelFile(name, host)
