"""The fingerprint of this machine: the facts that decide whether two runs can be compared."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from pipeline.machine.kernel_files import Tree
from pipeline.machine.storage import Mount, disks_of, mount_of
from pipeline.machine.system import System
from pipeline.model import Disk, Machine

UNKNOWN = "unknown"
"""The value of a fact that this machine does not report."""

_CPU = "/sys/devices/system/cpu"
_SETTINGS = {
    "governor": f"{_CPU}/cpu0/cpufreq/scaling_governor",
    "scaling_driver": f"{_CPU}/cpu0/cpufreq/scaling_driver",
    "turbo": f"{_CPU}/cpufreq/boost",
    "no_turbo": f"{_CPU}/intel_pstate/no_turbo",
    "smt": f"{_CPU}/smt/control",
    "transparent_hugepage": "/sys/kernel/mm/transparent_hugepage/enabled",
    "aslr": "/proc/sys/kernel/randomize_va_space",
    "swappiness": "/proc/sys/vm/swappiness",
    "dirty_ratio": "/proc/sys/vm/dirty_ratio",
    "dirty_background_ratio": "/proc/sys/vm/dirty_background_ratio",
    "huge_pages": "/proc/sys/vm/nr_hugepages",
    "numa_balancing": "/proc/sys/kernel/numa_balancing",
    "clocksource": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
}
_MEMORY_LIMITS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)
_COMPILERS = {"gcc": ("gcc", "-dumpfullversion"), "clang": ("clang", "-dumpversion")}


def fingerprint(
    machine_class: str | None = None, folder: Path = Path(), system: System | None = None
) -> Machine:
    """Return the fingerprint of this machine and of the storage under ``folder``.

    Without a ``machine_class`` one is derived from processor and memory, for example
    ``amd-epyc-9454p-c48r128``.
    """
    system = system or System()
    tree = system.tree
    cpuinfo = tree.read("/proc/cpuinfo")
    model = cpu_model(cpuinfo)
    # Not the processors available to this process, which may already be pinned.
    cores = len(processors(tree.read(f"{_CPU}/online"))) or os.cpu_count() or 1
    memory = usable_memory(tree)
    mount = mount_of(tree, folder)
    disks = disks_of(tree, mount)
    packages, physical = _topology(tree)
    return Machine(
        machine_class=machine_class or derive_class(model, cores, memory),
        hostname=tree.read("/proc/sys/kernel/hostname") or UNKNOWN,
        cpu_model=model,
        cores=cores,
        memory_bytes=memory,
        kernel=tree.read("/proc/sys/kernel/osrelease") or UNKNOWN,
        operating_system=os_name(tree.read("/etc/os-release")),
        virtualised=virtualised(system),
        storage=_storage(mount, disks),
        microcode=_cpu_fields(cpuinfo).get("microcode", ""),
        sockets=packages,
        physical_cores=physical,
        numa_nodes=len(tree.glob("/sys/devices/system/node/node[0-9]*")) or None,
        memory_speed=memory_speed(system.program_output(["dmidecode", "--type", "17"])),
        mount="" if mount is None else f"{mount.point} {','.join(mount.options)}",
        disks=disks,
        cmdline=cmdline(tree.read("/proc/cmdline")),
        software=_software(system),
        settings=_settings(tree),
    )


def described(machine_class: str, cores: int, memory: int) -> Machine:
    """Return the fingerprint of a machine elsewhere, with only cores and memory known."""
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
    """Return the installed memory in GB, estimated from the kernel's count of usable bytes.

    Firmware and kernel reserve a few percent, so the count is rounded up to the next eighth of the
    power of two below it: 31.1 is 32, 125.6 is 128, 23.5 is 24.
    """
    gb = memory_bytes / 2**30
    step = 1
    while step * 16 <= gb:
        step *= 2
    return max(1, -int(-gb // step)) * step


def scale_name(cores: int, memory_bytes: int) -> str:
    """Return the suffix of a scaled configuration: ``c8r32`` for 8 cores and 32 GB."""
    return f"c{cores}r{memory_gb(memory_bytes)}"


def derive_class(model: str, cores: int, memory_bytes: int) -> str:
    """Return the name of a machine class from processor, cores and memory."""
    name = re.sub(r"\((r|tm)\)|@.*|\b\d+-core\b|\b(processor|cpu)\b", " ", model.lower())
    slug = re.sub(r"[^a-z0-9]+", "-", name).strip("-")
    return f"{slug or UNKNOWN}-{scale_name(cores, memory_bytes)}"


def cpu_model(cpuinfo: str) -> str:
    """Return the name of the processor, from /proc/cpuinfo."""
    fields = _cpu_fields(cpuinfo)
    if name := fields.get("model name"):
        return " ".join(name.split()).removesuffix(" unknown")
    if part := fields.get("CPU part"):
        return f"{platform.machine()} {fields.get('CPU implementer', '')}-{part}"
    return platform.machine() or UNKNOWN


def os_name(os_release: str) -> str:
    """Return the name of the operating system, from /etc/os-release."""
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)', os_release, re.MULTILINE)
    return found.group(1) if found else UNKNOWN


def _cpu_fields(cpuinfo: str) -> dict[str, str]:
    """Return the fields of one processor in /proc/cpuinfo, by name; all processors are alike."""
    return dict(re.findall(r"^([^\t:]+?)\s*:\s*(.+)$", cpuinfo, re.MULTILINE))


def processors(ranges: str) -> tuple[int, ...]:
    """Return the processor numbers in a list of the kernel such as ``0-3,8``."""
    found: list[int] = []
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", ranges):
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def usable_memory(tree: Tree) -> int:
    """Return how many bytes of memory can be used; in a container this is its limit."""
    found = re.search(r"^MemTotal:\s+(\d+) kB", tree.read("/proc/meminfo"), re.MULTILINE)
    total = int(found[1]) * 1024 if found else 0
    limits = [tree.number(path) for path in _MEMORY_LIMITS]
    return min([total, *(limit for limit in limits if limit is not None)])


def virtualised(system: System) -> str:
    """Return the name of the hypervisor or container that we run in, or ``none``."""
    if reported := system.program_output(["systemd-detect-virt"]):
        return reported
    cpuinfo = system.tree.read("/proc/cpuinfo")
    flagged = re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, re.MULTILINE)
    return "hypervisor" if flagged else "none"


def memory_speed(dmidecode: str) -> str:
    """Return how fast the memory modules are, as dmidecode prints it.

    Empty without root. A virtual machine's firmware invents speeds or reports none.
    """
    speeds = re.findall(
        r"^\s*Configured (?:Memory|Clock) Speed: (\d+ \S+)", dmidecode, re.MULTILINE
    )
    return ", ".join(sorted(set(speeds)))


def cmdline(text: str) -> str:
    """Return the parameters that the kernel was started with.

    What follows a lone ``--`` is for the first process, not for the kernel.
    """
    return re.split(r"(?:^|\s)--(?:\s|$)", text, maxsplit=1)[0].strip()


def _topology(tree: Tree) -> tuple[int | None, int | None]:
    """Return how many sockets and physical cores there are; None if unknown."""
    found = [
        (tree.number(f"{cpu}/topology/physical_package_id"), tree.read(f"{cpu}/topology/core_id"))
        for cpu in tree.glob(f"{_CPU}/cpu[0-9]*")
    ]
    cores = {(package, core) for package, core in found if package is not None and core}
    return len({package for package, _ in cores}) or None, len(cores) or None


def _software(system: System) -> dict[str, str]:
    found = {name: system.program_output(argv) for name, argv in _COMPILERS.items()}
    name, version = platform.libc_ver()
    found["libc"] = f"{name} {version}".strip()
    return {name: version for name, version in found.items() if version}


def _storage(mount: Mount | None, disks: tuple[Disk, ...]) -> str:
    """Return the file system and disk under a folder, for example ``ext4 on vda (ssd)``."""
    if mount is None:
        return f"{UNKNOWN} on {UNKNOWN}"
    spins = {True: "rotational", False: "ssd", None: ""}
    first = disks[0] if disks else Disk(name="")
    details = ", ".join(text for text in (first.model, spins[first.rotational]) if text)
    name = Path(mount.device).name
    return f"{mount.kind} on {name}" + (f" ({details})" if details else "")


def _settings(tree: Tree) -> dict[str, str]:
    """Return the kernel settings that affect measurements."""
    found = {name: tree.chosen(path) for name, path in _SETTINGS.items()}
    for path in tree.glob(f"{_CPU}/vulnerabilities/*"):
        text = tree.read(path)
        # A processor that is not affected reports "Not affected".
        if text.startswith(("Mitigation", "Vulnerable")):
            found[f"mitigation_{Path(path).name}"] = text.partition("Mitigation: ")[2] or text
    return {name: text for name, text in found.items() if text}
