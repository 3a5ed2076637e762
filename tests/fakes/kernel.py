"""A machine that is made up: files that answer as a kernel's do, swap devices and timers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pipeline.machine.kernel_files import Tree
from pipeline.machine.tune.host import Host

FILES = {
    "/proc/sys/kernel/random/boot_id": "6d5f6d3c-0000-4000-8000-000000000001\n",
    "/proc/sys/kernel/randomize_va_space": "2\n",
    "/proc/sys/kernel/numa_balancing": "1\n",
    "/proc/sys/vm/swappiness": "60\n",
    "/proc/sys/vm/dirty_ratio": "20\n",
    "/proc/sys/vm/dirty_bytes": "0\n",
    "/proc/sys/vm/dirty_background_ratio": "10\n",
    "/proc/sys/vm/dirty_background_bytes": "0\n",
    "/proc/sys/vm/drop_caches": "0\n",
    "/proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n"
    "/dev/sda2 partition 1000 0 -2\n/swap\\040file file 1000 0 5\n/dev/sdb2 partition 900 0 -3\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
    "/sys/block/nvme0n1/queue/scheduler": "none [mq-deadline] kyber\n",
    "/sys/block/nvme0n1/queue/rotational": "0\n",
    "/sys/block/nvme0n1/device/model": "MTFDKCC1T9\n",
    "/sys/block/sda/queue/scheduler": "none [mq-deadline]\n",
    "/sys/block/sda/queue/rotational": "1\n",
    "/sys/block/sda/device/model": "a disk that rotates\n",
    "/sys/block/loop0/queue/scheduler": "none [mq-deadline]\n",
    "/sys/block/loop0/queue/rotational": "0\n",
    "/sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
    "/sys/devices/system/cpu/smt/control": "on\n",
} | {
    f"/sys/devices/system/cpu/{path}": text
    for n in range(4)
    for path, text in {
        f"cpufreq/policy{n}/scaling_governor": "schedutil\n" if n % 2 else "powersave\n",
        f"cpufreq/policy{n}/scaling_available_governors": "performance powersave schedutil\n",
        f"cpu{n}/cpuidle/state0/latency": "0\n",
        f"cpu{n}/cpuidle/state0/disable": "0\n",
        f"cpu{n}/cpuidle/state1/latency": "2\n",
        f"cpu{n}/cpuidle/state1/disable": "0\n",
        f"cpu{n}/cpuidle/state2/latency": "170\n",
        f"cpu{n}/cpuidle/state2/disable": "0\n",
    }.items()
}
"""A server of Intel with four processors, as it starts."""

TIMERS = {"apt-daily.timer": "active", "fstrim.timer": "inactive"}


class KernelTree(Tree):
    """Files of which each changes at once, as the kernel's do, and that keep their own form.

    The files of every second processor are not there while SMT is off.
    """

    def read(self, path: str) -> str:
        return "" if self._is_off(path) else super().read(path)

    def glob(self, pattern: str) -> list[str]:
        return [path for path in super().glob(pattern) if not self._is_off(path)]

    def _is_off(self, path: str) -> bool:
        second = re.search(r"/(policy|cpu)\d*[13579]/", path)
        return bool(second) and super().read("/sys/devices/system/cpu/smt/control") == "off"

    def write(self, path: str, text: str) -> None:
        if self._is_off(path):
            raise OSError(19, "No such device")
        file, wanted = self.path(path), text.strip()
        was = file.read_text()
        if "[" in was:
            known = was.replace("[", "").replace("]", "").split()
            if wanted not in known:
                raise OSError(22, "Invalid argument")
            text = " ".join(f"[{each}]" if each == wanted else each for each in known)
        put(file, text.strip() + "\n")


def put(file: Path, text: str) -> None:
    """Change a file at once: killed meanwhile it is as before or as after."""
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    partial.write_text(text)
    partial.replace(file)


class Machine:
    """A machine under a folder. What was changed in it is in its files, so another process sees it.

    ``before`` is called before every change, with a word of what is changed, and may raise;
    ``after`` when it is done.
    """

    def __init__(
        self,
        root: Path,
        before: Callable[[str], None] = lambda _: None,
        after: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.root = root
        self.before, self.after = before, after
        self.ran: list[tuple[str, ...]] = []
        self.host = Host(_Watched(self), self.run)

    def make(self, files: Mapping[str, str] = FILES) -> Machine:
        """Make its files."""
        for path, text in files.items():
            file = self.root / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        for unit, state in TIMERS.items():
            (self.root / unit).write_text(state)
        return self

    def content(self) -> dict[str, bytes]:
        """Return all of its files."""
        names = (Path(place) / name for place, _, names in os.walk(self.root) for name in names)
        found = {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in names
            if not path.name.startswith(".")
        }
        # A kernel lists them by the place that was free when each was taken into use.
        head, *rows = found["proc/swaps"].split(b"\n")
        return found | {"proc/swaps": b"\n".join([head, *sorted(rows)])}

    def run(self, argv: Sequence[str]) -> str:
        """Stand in for the programs that act on a machine."""
        self.ran.append(tuple(argv))
        if argv[:2] == ["systemctl", "show"]:
            file = self.root / argv[-1]
            loaded, state = ("loaded", file.read_text()) if file.exists() else ("not-found", "")
            return f"LoadState={loaded}\nActiveState={state or 'inactive'}\n"
        self.before(" ".join(argv))
        match list(argv):
            case ["systemctl", "stop" | "start" as verb, unit]:
                put(self.root / unit, "inactive" if verb == "stop" else "active")
            case ["swapoff", device]:
                self._swapoff(device)
            case ["swapon", device]:
                self._swapon(device, None)
            case ["swapon", "--priority", priority, device]:
                self._swapon(device, int(priority))
            case ["fstrim", *_]:
                pass
            case _:
                raise OSError(f"{argv[0]} is not installed")
        self.after(" ".join(argv))
        return ""

    def _rows(self) -> list[list[str]]:
        return [line.split() for line in (self.root / "proc/swaps").read_text().splitlines()[1:]]

    def _keep(self, rows: Sequence[Sequence[str]]) -> None:
        head = (self.root / "proc/swaps").read_text().splitlines()[0]
        put(self.root / "proc/swaps", "\n".join([head, *(" ".join(row) for row in rows)]) + "\n")

    def _swapoff(self, device: str) -> None:
        name = _escaped(device)
        rows = self._rows()
        (gone,) = (row for row in rows if row[0] == name)
        put(self.root / f".kind{name.replace('/', '_')}", " ".join(gone[1:3]))
        kept = [row for row in rows if row[0] != name]
        for row in kept:  # As mm/swapfile.c: those that came after move up.
            if int(gone[4]) > int(row[4]):
                row[4] = str(int(row[4]) + 1) if int(gone[4]) < 0 else row[4]
        self._keep(kept)

    def _swapon(self, device: str, priority: int | None) -> None:
        name = _escaped(device)
        rows = self._rows()
        if priority is None:
            priority = min([-1, *(int(row[4]) for row in rows)]) - 1
        what = (self.root / f".kind{name.replace('/', '_')}").read_text().split()
        self._keep([*rows, [name, *what, "0", str(priority)]])


class _Watched(KernelTree):
    def __init__(self, machine: Machine) -> None:
        super().__init__(machine.root)
        self._machine = machine

    def write(self, path: str, text: str) -> None:
        self._machine.before(path)
        super().write(path, text)
        self._machine.after(path)


def _escaped(name: str) -> str:
    return re.sub(r"\s", lambda found: f"\\{ord(found[0]):03o}", name)
