"""What this machine is: enough to tell whether two runs may be compared."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import psutil

from pipeline.machine.tree import chosen
from pipeline.model import Machine

UNKNOWN = "unknown"
"""What is written where the machine does not say."""

_CPU = Path("/sys/devices/system/cpu")
_SETTINGS = {
    "governor": _CPU / "cpu0/cpufreq/scaling_governor",
    "scaling_driver": _CPU / "cpu0/cpufreq/scaling_driver",
    "turbo": _CPU / "cpufreq/boost",
    "no_turbo": _CPU / "intel_pstate/no_turbo",
    "smt": _CPU / "smt/control",
    "transparent_hugepage": Path("/sys/kernel/mm/transparent_hugepage/enabled"),
    "aslr": Path("/proc/sys/kernel/randomize_va_space"),
    "swappiness": Path("/proc/sys/vm/swappiness"),
    "dirty_ratio": Path("/proc/sys/vm/dirty_ratio"),
    "dirty_background_ratio": Path("/proc/sys/vm/dirty_background_ratio"),
    "huge_pages": Path("/proc/sys/vm/nr_hugepages"),
    "numa_balancing": Path("/proc/sys/kernel/numa_balancing"),
    "clocksource": Path("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
}
_MEMORY_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def fingerprint(machine_class: str | None = None, folder: Path = Path()) -> Machine:
    """Return this machine, with the storage under ``folder``.

    Without a ``machine_class`` one is derived from processor and memory, as
    ``amd-epyc-9454p-c48r128``.
    """
    model = cpu_model(_read(Path("/proc/cpuinfo")))
    # Not those available to this process: it may have been pinned already.
    cores = os.cpu_count() or 1
    memory = _memory_bytes()
    return Machine(
        machine_class=machine_class or derive_class(model, cores, memory),
        hostname=platform.node() or UNKNOWN,
        cpu_model=model,
        cores=cores,
        memory_bytes=memory,
        kernel=platform.release(),
        operating_system=os_name(_read(Path("/etc/os-release"))),
        virtualised=_virtualised(),
        storage=_storage(folder),
        settings=_settings(),
    )


def described(machine_class: str, cores: int, memory: int) -> Machine:
    """Return a machine of a class, elsewhere, of which no more is known than its size in GB."""
    return Machine(
        machine_class=machine_class,
        hostname=UNKNOWN,
        cpu_model=UNKNOWN,
        cores=cores,
        memory_bytes=memory * 2**30,
        kernel=UNKNOWN,
        operating_system=UNKNOWN,
        virtualised=UNKNOWN,
        storage=UNKNOWN,
    )


def memory_gb(memory_bytes: int) -> int:
    """Return the installed memory in GB that a kernel's count of usable bytes stands for.

    Firmware and kernel keep a few percent, so the count is rounded up to the next eighth of
    the power of two below it: 31.1 is 32, 125.6 is 128, 23.5 is 24.
    """
    gb = memory_bytes / 2**30
    step = 1
    while step * 16 <= gb:
        step *= 2
    return max(1, -int(-gb // step)) * step


def scale_name(cores: int, memory_bytes: int) -> str:
    """Return what a configuration is scaled to, as ``c8r32``: 8 cores, 32 GB."""
    return f"c{cores}r{memory_gb(memory_bytes)}"


def derive_class(model: str, cores: int, memory_bytes: int) -> str:
    """Return a machine class for a processor's name, number of cores and memory."""
    name = re.sub(r"\((r|tm)\)|@.*|\b\d+-core\b|\b(processor|cpu)\b", " ", model.lower())
    slug = re.sub(r"[^a-z0-9]+", "-", name).strip("-")
    return f"{slug or UNKNOWN}-{scale_name(cores, memory_bytes)}"


def cpu_model(cpuinfo: str) -> str:
    """Return the processor's name from the text of /proc/cpuinfo; on Arm its part number."""
    fields = dict(re.findall(r"^([^\t:]+?)\s*:\s*(.+)$", cpuinfo, re.MULTILINE))
    if name := fields.get("model name"):
        return " ".join(name.split()).removesuffix(" unknown")
    if part := fields.get("CPU part"):
        return f"{platform.machine()} {fields.get('CPU implementer', '')}-{part}"
    return platform.machine() or UNKNOWN


def os_name(os_release: str) -> str:
    """Return the system's name from the text of /etc/os-release."""
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)', os_release, re.MULTILINE)
    return found.group(1) if found else UNKNOWN


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _memory_bytes() -> int:
    """Return the memory that may be used: in a container its limit, not the host's."""
    total = int(psutil.virtual_memory().total)
    limits = (text for path in _MEMORY_LIMITS if (text := _read(path).strip()).isdigit())
    return min([total, *map(int, limits)])


def _virtualised() -> str:
    """Return the name of the hypervisor or container, or ``none``."""
    if program := shutil.which("systemd-detect-virt"):
        # It answers with an exit code too, so that is not looked at.
        answer = subprocess.run([program], capture_output=True, text=True, check=False)
        if answer.stdout.strip():
            return answer.stdout.strip()
    flagged = re.search(r"^flags\s*:.*\bhypervisor\b", _read(Path("/proc/cpuinfo")), re.MULTILINE)
    return "hypervisor" if flagged else "none"


def _storage(folder: Path) -> str:
    """Return file system, device and device model under ``folder``, as ``ext4 on vda (ssd)``."""
    kind, device = mounted(folder.resolve(), _read(Path("/proc/self/mountinfo")))
    block = (Path("/sys/class/block") / Path(device).resolve().name).resolve()
    # A partition has no queue of its own: its disk, the folder above, has it.
    disk = block if (block / "queue").exists() else block.parent
    model = _read(disk / "device/model").strip()
    spins = {"0": "ssd", "1": "rotational"}.get(_read(disk / "queue/rotational").strip(), "")
    details = ", ".join(text for text in (model, spins) if text)
    return f"{kind} on {Path(device).name}" + (f" ({details})" if details else "")


def mounted(folder: Path, mountinfo: str) -> tuple[str, str]:
    """Return (file system, device) of ``folder``, from the text of /proc/self/mountinfo.

    The innermost mount point counts, and of several mounts there the last.
    """
    best, found = -1, (UNKNOWN, UNKNOWN)
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        # Spaces and the like are written as octal escapes.
        point = Path(re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), before.split()[4]))
        if folder.is_relative_to(point) and len(point.parts) >= best:
            kind, device = after.split()[:2]
            best, found = len(point.parts), (kind, device)
    return found


def _settings() -> dict[str, str]:
    """Return the settings of the kernel that change what is measured."""
    found = {name: chosen(_read(path)) for name, path in _SETTINGS.items()}
    for path in sorted((_CPU / "vulnerabilities").glob("*")):
        text = _read(path).strip()
        if text.startswith("Mitigation"):
            found[f"mitigation_{path.name}"] = text.partition(": ")[2]
    return {name: text for name, text in found.items() if text}
