"""A dedicated server made of files, as it should be, and what may be another way on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pipeline.machine.kernel_files import Tree
from pipeline.machine.system import Space, System

GB = 10**9
CPU = "/sys/devices/system/cpu"
NVME = "/sys/devices/pci0000:00/nvme/nvme0/nvme0n1"
HWMON = "/sys/class/hwmon/hwmon0"

FILES: Mapping[str, str] = {
    "/proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD EPYC 9454P 48-Core Processor\n"
    "microcode\t: 0xa10113e\nflags\t\t: fpu vme",
    "/proc/meminfo": "MemTotal: 131072000 kB\nMemFree: 100000000 kB\n"
    "MemAvailable: 120000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n"
    "HugePages_Total: 0\nHugePages_Free: 0\nHugePages_Rsvd: 0\nHugepagesize: 2048 kB",
    "/proc/stat": "cpu  1000 0 1000 98000 0 0 0 0 0 0",
    "/proc/vmstat": "pswpin 5\npswpout 6\noom_kill 0",
    "/proc/swaps": "Filename Type Size Used Priority",
    "/proc/mdstat": "Personalities : [raid1]\nunused devices: <none>",
    "/proc/cmdline": "root=/dev/nvme0n1p1 ro quiet -- secret",
    "/proc/self/mountinfo": "27 1 259:1 / / rw,noatime shared:1 - ext4 /dev/nvme0n1p1 rw,discard",
    "/proc/self/cgroup": "0::/system.slice/nightshift.service",
    "/proc/self/limits": "Limit  Soft Limit  Hard Limit  Units\n"
    "Max open files            65536                65536                files",
    "/proc/self/status": "Name:\tpython3\nUid:\t1000\t1000\t1000\t1000",
    "/proc/sys/kernel/core_pattern": "core",
    "/proc/sys/kernel/hostname": "bench-1",
    "/proc/sys/kernel/numa_balancing": "0",
    "/proc/sys/kernel/osrelease": "6.1.0-30-amd64",
    "/proc/sys/kernel/perf_event_paranoid": "1",
    "/proc/sys/kernel/randomize_va_space": "2",
    "/proc/sys/vm/nr_hugepages": "0",
    "/proc/sys/vm/swappiness": "1",
    "/proc/sys/vm/zone_reclaim_mode": "0",
    "/etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"',
    "/run/systemd/system/README": "",
    f"{CPU}/online": "0-3",
    **{
        f"{CPU}/cpu{number}/{name}": text
        for number in range(4)
        for name, text in {
            "cpufreq/scaling_governor": "performance",
            "cpufreq/scaling_driver": "acpi-cpufreq",
            "thermal_throttle/core_throttle_count": "7",
            "thermal_throttle/package_throttle_count": "7",
            "topology/physical_package_id": "0",
            "topology/core_id": str(number),
        }.items()
    },
    f"{CPU}/cpufreq/boost": "0",
    f"{CPU}/smt/control": "off",
    f"{CPU}/smt/active": "0",
    f"{CPU}/vulnerabilities/meltdown": "Not affected",
    f"{CPU}/vulnerabilities/spectre_v1": "Mitigation: usercopy/swapgs barriers",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    "/sys/devices/system/edac/mc/mc0/ce_count": "0",
    "/sys/devices/system/edac/mc/mc0/ue_count": "0",
    "/sys/devices/system/node/node0/cpulist": "0-3",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    f"{NVME}/size": "3750748848",
    f"{NVME}/device/model": "Micron_7450_MTFDKCC1T9TFR  ",
    f"{NVME}/device/firmware_rev": "E2MU110 ",
    f"{NVME}/queue/rotational": "0",
    f"{NVME}/queue/scheduler": "[none] mq-deadline kyber",
    f"{NVME}/queue/write_cache": "write through",
    f"{NVME}/nvme0n1p1/partition": "1",
    f"{HWMON}/name": "k10temp",
    f"{HWMON}/temp1_input": "48500",
    f"{HWMON}/temp1_label": "Tctl",
    f"{HWMON}/temp1_max": "95000",
}
"""Its files. Paths of disks are where the kernel has them; /sys/class/block links to those."""

LINKS: Mapping[str, str] = {
    "/sys/class/block/nvme0n1": NVME,
    "/sys/class/block/nvme0n1p1": f"{NVME}/nvme0n1p1",
}

SMART = '{"smart_status": {"passed": true}, "nvme_smart_health_information_log": \
{"critical_warning": 0, "percentage_used": 4, "media_errors": 0}}'

PROGRAMS: Mapping[str, str] = {
    "systemd-detect-virt": "none",
    "systemctl": "inactive\n" * 6,
    "smartctl": SMART,
    "gcc": "12.2.0",
    "dmidecode": "Memory Device\n\tSpeed: 4800 MT/s\n\tConfigured Memory Speed: 4800 MT/s",
}
"""What its programs print."""


ROOM = Space(800 * GB, 1900 * GB, 10**7)


def write(root: Path, files: Mapping[str, str]) -> None:
    """Put files under a root."""
    for name, text in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


def fabricate(
    root: Path,
    changes: Mapping[str, str | None] | None = None,
    *,
    links: Mapping[str, str] | None = None,
    later: Mapping[str, str] | None = None,
    programs: Mapping[str, str] | None = None,
    free: Space | None = ROOM,
    synchronised: bool | None = True,
) -> System:
    """Return the server with some changes.

    Args:
        root: where its files are made.
        changes: texts of files that differ, None for files that it does not have.
        links: of /sys/class/block, beside its own: link and what it leads to.
        later: texts of files once its clock has moved.
        programs: what programs print that print something else.
        free: room of its file systems.
        synchronised: whether its clock is.
    """
    wanted = {**FILES, **(changes or {})}
    write(root, {name: text for name, text in wanted.items() if text is not None})
    for link, leads in {**LINKS, **(links or {})}.items():
        path = root / link.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(os.path.relpath(root / leads.lstrip("/"), path.parent))
    said = {**PROGRAMS, **(programs or {})}
    return System(
        tree=Tree(root),
        folder=Path("/data"),
        interval=1.0,
        program_output=_answering(said),
        space=lambda _: free,
        synchronised=lambda: synchronised,
        sleep=lambda _: write(root, later or {}),
    )


def _answering(said: Mapping[str, str]) -> Callable[[Sequence[str]], str]:
    return lambda argv: said.get(argv[0], "")
