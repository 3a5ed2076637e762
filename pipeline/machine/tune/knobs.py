"""Knobs: settings with a value that can be read and written, each with a storable name.

A name is the path of a kernel file, ``swap /dev/sda2`` or ``timer apt-daily.timer``.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

from pipeline.machine.tune.host import Host


class Knob(Protocol):
    """A setting of the machine with a value."""

    def read(self) -> str:
        """Return the value in force; empty if this machine lacks the knob."""

    def write(self, value: str) -> None:
        """Set a value. Raises OSError if that is refused."""


class KernelFile(NamedTuple):
    """A file below /proc or /sys with one value, or with several of which one is chosen."""

    path: str
    host: Host

    def read(self) -> str:
        """Return the value in force."""
        return self.host.tree.chosen(self.path)

    def write(self, value: str) -> None:
        """Write a value. Raises OSError."""
        # Fail if the file is missing, instead of creating it.
        self.host.tree.path(self.path).stat()
        self.host.tree.write(self.path, f"{value}\n")


OFF, AUTO = "off", "auto"
"""Values of a swap device: not in use; in use with a priority that the kernel chose."""


class Swap(NamedTuple):
    """A swap device or file. Its value is its priority, ``auto`` or ``off``."""

    device: str
    host: Host

    def read(self) -> str:
        """Return the priority of the swap device, ``auto`` or ``off``."""
        return swaps(self.host).get(self.device, OFF)

    def write(self, value: str) -> None:
        """Enable it with a priority, or disable it. Raises OSError."""
        if value == OFF:
            self.host.run(["swapoff", self.device])
        elif value == AUTO:
            self.host.run(["swapon", self.device])
        else:
            self.host.run(["swapon", "--priority", value, self.device])


def swaps(host: Host) -> dict[str, str]:
    """Return the priorities of swap devices, the one used last first.

    Priorities that the kernel chose are negative and descend. Disabling devices from the lowest and
    enabling them from the highest restores the order.
    """
    rows = [line.split() for line in host.tree.read("/proc/swaps").splitlines()[1:]]
    used = sorted((int(row[4]), _unescaped(row[0])) for row in rows if len(row) >= 5)
    return {device: str(priority) if priority >= 0 else AUTO for priority, device in used}


def _unescaped(name: str) -> str:
    """Decode a name of /proc, which writes a space as backslash and 040."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), name)


ACTIVE, INACTIVE = "active", "inactive"


class Timer(NamedTuple):
    """A timer of systemd: ``active`` or ``inactive``."""

    unit: str
    host: Host

    def read(self) -> str:
        """Return its state; empty if systemd is missing or does not know the timer."""
        asked = ["--property=LoadState", "--property=ActiveState"]
        try:
            shown = self.host.run(["systemctl", "show", *asked, self.unit])
        except OSError:
            return ""
        properties = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
        return properties.get("ActiveState", "") if properties.get("LoadState") == "loaded" else ""

    def write(self, value: str) -> None:
        """Start or stop it. Raises OSError."""
        self.host.run(["systemctl", "start" if value == ACTIVE else "stop", self.unit])


def find_knob(name: str, host: Host) -> Knob:
    """Return the knob with a name."""
    if name.startswith("swap "):
        return Swap(name.removeprefix("swap "), host)
    if name.startswith("timer "):
        return Timer(name.removeprefix("timer "), host)
    return KernelFile(name, host)
