"""Every check, both ways, on fabricated machines; and all of them on this one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pipeline.machine.checks import CHECKS, GROUPS
from pipeline.machine.checks.base import Look, Severity, Verdict
from pipeline.machine.fingerprint import fingerprint
from pipeline.machine.kernel_files import Tree
from pipeline.machine.system import Space, System
from tests.machine.fabricated import CPU, GB, HWMON, NVME, fabricate

MOUNTS = "/proc/self/mountinfo"
MEMORY = "/proc/meminfo"
VMSTAT = "/proc/vmstat"
STAT = "/proc/stat"
SPIN = "S 1 1 1 0 -1 4 0 0 0 0 {} 0 0 0 20 0 1 0 4711 1 1"
ECC = "/sys/devices/system/edac/mc/mc0"
TIMES = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
TWO_NODES = {"/sys/devices/system/node/node1/cpulist": ""}
RAID = """Personalities : [raid1]
md0 : active raid1 nvme1n1p1[1] nvme0n1p1[0]
      1874716672 blocks super 1.2 [2/2] [{}]
{}
unused devices: <none>"""
CGROUP = "/sys/fs/cgroup"


@dataclass(frozen=True)
class Case:
    """How a machine differs from a good one, and what a check then says."""

    verdict: Verdict
    value: str
    changes: Mapping[str, str | None] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)


def good(value: str, changes: Mapping[str, str | None] | None = None, **more: Any) -> Case:
    return Case(Verdict.GOOD, value, changes or {}, more)


def bad(value: str, changes: Mapping[str, str | None] | None = None, **more: Any) -> Case:
    return Case(Verdict.BAD, value, changes or {}, more)


def unknown(value: str, changes: Mapping[str, str | None] | None = None, **more: Any) -> Case:
    return Case(Verdict.UNKNOWN, value, changes or {}, more)


def without(*paths: str) -> dict[str, str | None]:
    return dict.fromkeys(paths)


def of_cpus(name: str, value: str | None) -> dict[str, str | None]:
    return {f"{CPU}/cpu{number}/{name}": value for number in range(4)}


def meminfo(**figures: int) -> dict[str, str | None]:
    """Return a /proc/meminfo with figures in MB, or in pages."""
    text = "MemTotal: 128000000 kB\nMemAvailable: 120000000 kB\nHugepagesize: 2048 kB\n"
    for name, value in figures.items():
        unit = "" if name.startswith("HugePages") else " kB"
        text += f"{name}: {value if not unit else value * 1000}{unit}\n"
    return {MEMORY: text}


def processors(
    count: int, busy: Mapping[int, int] | None = None, stolen: Mapping[int, int] | None = None
) -> str:
    """Return a /proc/stat of some processors; with ``busy`` or ``stolen``, 100 ticks later."""
    later = 100 if busy is not None else 0
    rows = ["cpu  1000 0 1000 98000 0 0 0 0 0 0"]
    for number in range(count):
        worked, took = (busy or {}).get(number, 0), (stolen or {}).get(number, 0)
        idle = 900 + later - worked - took
        rows.append(f"cpu{number} {50 + worked} 0 50 {idle} 0 0 0 {took} 0 0")
    return "\n".join(rows)


def mount(text: str) -> dict[str, str | None]:
    return {MOUNTS: f"27 1 259:1 / / {text}"}


CASES: dict[str, list[Case]] = {
    "governor": [
        good("performance"),
        bad("powersave", of_cpus("cpufreq/scaling_governor", "powersave")),
        bad("performance, schedutil", {f"{CPU}/cpu3/cpufreq/scaling_governor": "schedutil"}),
        unknown("does not allow", of_cpus("cpufreq/scaling_governor", None)),
    ],
    "turbo": [
        good("off"),
        bad("on", {f"{CPU}/cpufreq/boost": "1"}),
        bad("on", {f"{CPU}/cpufreq/boost": None, f"{CPU}/cpufreq/policy2/boost": "1"}),
        good("off", {f"{CPU}/cpufreq/boost": None, f"{CPU}/intel_pstate/no_turbo": "1"}),
        bad("on", {f"{CPU}/cpufreq/boost": None, f"{CPU}/intel_pstate/no_turbo": "0"}),
        unknown("not reported", without(f"{CPU}/cpufreq/boost")),
    ],
    "smt": [
        good("off"),
        bad("on", {f"{CPU}/smt/active": "1"}),
        unknown("not reported", without(f"{CPU}/smt/active")),
    ],
    "mitigations": [
        good("on"),
        bad("none for meltdown", {f"{CPU}/vulnerabilities/meltdown": "Vulnerable; no microcode"}),
        good(
            "off, by",
            {
                f"{CPU}/vulnerabilities/meltdown": "Vulnerable",
                "/proc/cmdline": "ro mitigations=off quiet",
            },
        ),
        bad(
            "none for meltdown",
            {
                f"{CPU}/vulnerabilities/meltdown": "Vulnerable",
                "/proc/cmdline": "ro xmitigations=off",
            },
        ),
        unknown(
            "not reported",
            without(f"{CPU}/vulnerabilities/meltdown", f"{CPU}/vulnerabilities/spectre_v1"),
        ),
    ],
    "throttling": [
        good("not now; 7 times since boot"),
        bad(
            "slowed down now: cpu2 core",
            later={f"{CPU}/cpu2/thermal_throttle/core_throttle_count": "9"},
        ),
        unknown(
            "not counted",
            of_cpus("thermal_throttle/core_throttle_count", None)
            | of_cpus("thermal_throttle/package_throttle_count", None),
        ),
    ],
    "temperature": [
        good("k10temp Tctl 48 °C of 95 °C"),
        bad("k10temp Tctl 93 °C of 95 °C", {f"{HWMON}/temp1_input": "93000"}),
        bad(
            "nvme Composite 81 °C of 84 °C",
            {
                "/sys/class/hwmon/hwmon1/name": "nvme",
                "/sys/class/hwmon/hwmon1/temp1_input": "81000",
                "/sys/class/hwmon/hwmon1/temp1_label": "Composite",
                "/sys/class/hwmon/hwmon1/temp1_crit": "84000",
            },
        ),
        unknown("no sensor", without(f"{HWMON}/temp1_max")),
        unknown("no sensor", without(f"{HWMON}/name")),
    ],
    "power": [
        good("mains"),
        good(
            "mains",
            {
                "/sys/class/power_supply/BAT0/type": "Battery",
                "/sys/class/power_supply/BAT0/status": "Charging",
            },
        ),
        bad(
            "battery",
            {
                "/sys/class/power_supply/BAT0/type": "Battery",
                "/sys/class/power_supply/BAT0/status": "Discharging",
            },
        ),
    ],
    "swapping": [
        good("0 pages/s"),
        good("999 pages/s", later={VMSTAT: "pswpin 1004\npswpout 6\noom_kill 0"}),
        bad("1500 pages/s", later={VMSTAT: "pswpin 505\npswpout 1006\noom_kill 0"}),
        unknown("not counted", without(VMSTAT)),
    ],
    "memory_broken": [
        good("none since boot", {f"{ECC}/ce_count": "3"}),
        bad("2 since boot", {f"{ECC}/ue_count": "2"}),
        unknown("not counted on this machine", without(f"{ECC}/ue_count", f"{ECC}/ce_count")),
    ],
    "memory_errors": [
        good("none since boot", {f"{ECC}/ue_count": "3"}),
        bad(
            "5 since boot",
            {f"{ECC}/ce_count": "4", "/sys/devices/system/edac/mc/mc1/ce_count": "1"},
        ),
        unknown("not counted on this machine", without(f"{ECC}/ue_count", f"{ECC}/ce_count")),
    ],
    "memory_available": [
        good("122.9 of 134.2 GB"),
        bad("61.4 of 131.1 GB", meminfo(MemAvailable=60_000)),
        good("8.0 of 8.0 GB", {f"{CGROUP}/memory.max": str(8 * GB)}),
        unknown("not reported", without(MEMORY)),
    ],
    "swap": [
        good("none"),
        good("0.1 of 10.2 GB", meminfo(SwapTotal=10_000, SwapFree=9_950)),
        bad("2.0 of 10.2 GB", meminfo(SwapTotal=10_000, SwapFree=8_000)),
        unknown("not reported", without(MEMORY)),
    ],
    "swappiness": [
        good("1, without swap"),
        good("60, without swap", {"/proc/sys/vm/swappiness": "60"}),
        good("10", {"/proc/sys/vm/swappiness": "10", **meminfo(SwapTotal=1, SwapFree=1)}),
        bad("60", {"/proc/sys/vm/swappiness": "60", **meminfo(SwapTotal=1, SwapFree=1)}),
        unknown("not reported", without("/proc/sys/vm/swappiness")),
    ],
    "thp": [
        good("madvise"),
        good("never", {"/sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]"}),
        bad("always", {"/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never"}),
        unknown("none", without("/sys/kernel/mm/transparent_hugepage/enabled")),
    ],
    "huge_pages": [
        good("none reserved"),
        good("unused", meminfo(HugePages_Total=1000, HugePages_Free=100)),
        bad("2.1 of 2.1 GB unused", meminfo(HugePages_Total=1000, HugePages_Free=1000)),
        unknown("not reported", without(MEMORY)),
    ],
    "numa_balancing": [
        good("one NUMA node", {"/proc/sys/kernel/numa_balancing": "1"}),
        good("off, 2 NUMA nodes", TWO_NODES),
        bad("on, 2 NUMA nodes", {"/proc/sys/kernel/numa_balancing": "1", **TWO_NODES}),
        unknown("not reported", {"/proc/sys/kernel/numa_balancing": None, **TWO_NODES}),
    ],
    "zone_reclaim": [
        good("0"),
        bad("1", {"/proc/sys/vm/zone_reclaim_mode": "1"}),
        unknown("none", without("/proc/sys/vm/zone_reclaim_mode")),
    ],
    "disk_full": [
        good("800.0 GB free"),
        good("2.0 GB free", free=Space(2 * GB, 1900 * GB, None)),
        bad("0.5 GB free", free=Space(GB // 2, 1900 * GB, None)),
        bad("12 inodes free", free=Space(800 * GB, 1900 * GB, 12)),
        unknown("not reported", free=None),
    ],
    "disk_space": [
        good("42 % of 1900 GB free"),
        bad("5 % of 1900 GB free", free=Space(95 * GB, 1900 * GB, None)),
        unknown("not reported", free=None),
    ],
    "disk_health": [
        good("passed"),
        bad(
            "nvme0n1 reports a failure",
            programs={"smartctl": '{"smart_status": {"passed": false}}'},
        ),
        unknown("as root", programs={"smartctl": ""}),
        unknown("as root", programs={"smartctl": "not JSON"}),
        unknown("as root", programs={"smartctl": '{"smart_status": {}}'}),
        unknown("as root", programs={"smartctl": "[]"}),
    ],
    "disk_wear": [
        good("nvme0n1 4 % worn"),
        bad(
            "nvme0n1 97 % worn",
            programs={
                "smartctl": '{"smart_status": {"passed": true}, '
                '"nvme_smart_health_information_log": {"percentage_used": 97}}'
            },
        ),
        unknown("for NVMe", programs={"smartctl": '{"smart_status": {"passed": true}}'}),
    ],
    "raid": [
        good("none"),
        good("none", without("/proc/mdstat")),
        good("md0", {"/proc/mdstat": RAID.format("UU", "")}),
        bad("md0 lacks a disk", {"/proc/mdstat": RAID.format("_U", "")}),
        bad(
            "check = 7.3%",
            {"/proc/mdstat": RAID.format("UU", "      [=>...]  check =  7.3% (1/2) finish=9min")},
        ),
    ],
    "file_system": [
        good("ext4 on /"),
        bad("nfs4 on /", mount("rw - nfs4 server:/data rw")),
        bad("tmpfs on /", mount("rw - tmpfs tmpfs rw")),
        bad("overlay on /", mount("rw - overlay overlay rw")),
        bad("fuse.sshfs on /", mount("rw - fuse.sshfs x rw")),
        unknown("not reported", without(MOUNTS)),
    ],
    "scheduler": [
        good("none on nvme0n1"),
        bad("mq-deadline on nvme0n1", {f"{NVME}/queue/scheduler": "none [mq-deadline] kyber"}),
        unknown("not reported", {f"{NVME}/queue/rotational": "1"}),
    ],
    "trim": [
        good("discard"),
        good(
            "fstrim.timer", mount("rw - ext4 /dev/nvme0n1p1 rw"), programs={"systemctl": "active"}
        ),
        bad("neither", mount("rw - ext4 /dev/nvme0n1p1 rw")),
        good(
            "not needed", {f"{NVME}/queue/rotational": "1", **mount("rw - ext4 /dev/nvme0n1p1 rw")}
        ),
        unknown("not reported", without(MOUNTS)),
    ],
    "atime": [
        good("noatime"),
        bad("relatime", mount("rw,relatime - ext4 /dev/nvme0n1p1 rw")),
        bad("strictatime", mount("rw - ext4 /dev/nvme0n1p1 rw")),
        unknown("not reported", without(MOUNTS)),
    ],
    "rotational": [
        good("no"),
        bad("nvme0n1 is a rotating disk", {f"{NVME}/queue/rotational": "1"}),
        unknown(
            "virtual disks",
            {f"{NVME}/queue/rotational": "1", f"{NVME}/device/model": "QEMU HARDDISK"},
        ),
    ],
    "write_cache": [
        good("safe or none"),
        bad("volatile in nvme0n1", {f"{NVME}/queue/write_cache": "write back"}),
        unknown("not reported by any disk", without(f"{NVME}/queue/write_cache")),
    ],
    "load": [
        good("2 % of the processors", later={STAT: "cpu  1010 0 1010 98980 0 0 0 0"}),
        bad("30 % of the processors", later={STAT: "cpu  1200 0 1100 98700 0 0 0 0"}),
        bad(
            "; apt (get) (812) 90 % of one",
            {
                "/proc/812/stat": f"812 (apt (get)) {SPIN.format(100)}",
                "/proc/9/stat": f"9 (idle) {SPIN.format(10)}",
            },
            later={
                STAT: "cpu  1200 0 1100 98700 0 0 0 0",
                "/proc/812/stat": f"812 (apt (get)) {SPIN.format(190)}",
            },
        ),
        good("2 % of processor 0", {STAT: processors(48)}, later={STAT: processors(48, {0: 2})}),
        bad("30 % of processor 31", {STAT: processors(48)}, later={STAT: processors(48, {31: 30})}),
        unknown("not reported"),
        unknown("not reported", without(STAT)),
    ],
    "steal": [
        good(
            "2.0 % of processor 7", {STAT: processors(48)}, later={STAT: processors(48, {}, {7: 2})}
        ),
        bad(
            "9.0 % of processor 7", {STAT: processors(48)}, later={STAT: processors(48, {}, {7: 9})}
        ),
        good("0.0 %", later={STAT: "cpu  1010 0 1010 98980 0 0 0 0"}),
        bad("8.0 %", later={STAT: "cpu  1010 0 1010 98900 0 0 0 80"}),
        unknown("not reported", without(STAT)),
    ],
    "limits": [
        good("none"),
        good("none", {f"{CGROUP}/system.slice/nightshift.service/cpu.max": "max 100000"}),
        bad(
            "1.5 processors",
            {f"{CGROUP}/system.slice/nightshift.service/cpu.max": "150000 100000"},
        ),
        bad("2.0 processors", {f"{CGROUP}/cpu.max": "200000 100000", "/proc/self/cgroup": "0::/"}),
        bad(
            "0.5 processors",
            {
                "/proc/self/cgroup": None,
                f"{CGROUP}/cpu/cpu.cfs_quota_us": "50000",
                f"{CGROUP}/cpu/cpu.cfs_period_us": "100000",
            },
        ),
        good(
            "none",
            {
                "/proc/self/cgroup": None,
                f"{CGROUP}/cpu/cpu.cfs_quota_us": "-1",
                f"{CGROUP}/cpu/cpu.cfs_period_us": "100000",
            },
        ),
    ],
    "timers": [
        good("none"),
        bad(
            "apt-daily.timer, man-db.timer",
            programs={"systemctl": "active\ninactive\ninactive\nactive\ninactive\ninactive"},
        ),
        unknown("no systemd", without("/run/systemd/system/README")),
        unknown("does not answer", programs={"systemctl": ""}),
    ],
    "virtual": [
        good("none"),
        bad("kvm", programs={"systemd-detect-virt": "kvm"}),
    ],
    "changed": [
        good("unchanged since its last run", last={}),
        bad("kernel 6.1.0-29-amd64 -> 6.1.0-30-amd64", last={"kernel": "6.1.0-29-amd64"}),
        bad(
            "and 2 more",
            last={
                "hostname": "a",
                "cpu_model": "b",
                "kernel": "c",
                "microcode": "d",
                "virtualised": "e",
            },
        ),
        unknown("no earlier run"),
    ],
    "clock": [
        good("yes"),
        bad("not synchronised", synchronised=False),
        unknown("not reported", synchronised=None),
    ],
    "clocksource": [
        good("tsc"),
        good("kvm-clock", {TIMES: "kvm-clock"}),
        bad("hpet", {TIMES: "hpet"}),
        unknown("not reported", without(TIMES)),
    ],
    "open_files": [
        good("65536"),
        good("unlimited", {"/proc/self/limits": "Max open files   unlimited  unlimited  files"}),
        bad("1024", {"/proc/self/limits": "Max open files            1024     4096   files"}),
        unknown("not reported", without("/proc/self/limits")),
    ],
    "reboot": [
        good("no reboot pending"),
        bad(
            "required by linux-image-amd64",
            {
                "/run/reboot-required": "*** System restart required ***",
                "/run/reboot-required.pkgs": "linux-image-amd64\nlibc6",
            },
        ),
        bad("required", {"/run/reboot-required": ""}),
    ],
    "perf_counters": [
        good("perf_event_paranoid 1"),
        bad("perf_event_paranoid 3", {"/proc/sys/kernel/perf_event_paranoid": "3"}),
        good(
            "perf_event_paranoid 3",
            {
                "/proc/sys/kernel/perf_event_paranoid": "3",
                "/proc/self/status": "Name:\tpython3\nUid:\t0\t0\t0\t0",
            },
        ),
        unknown("none", without("/proc/sys/kernel/perf_event_paranoid")),
    ],
    "core_dumps": [
        good("to a file"),
        bad(
            "/usr/share/apport/apport",
            {"/proc/sys/kernel/core_pattern": "|/usr/share/apport/apport %p"},
        ),
        unknown("not reported", without("/proc/sys/kernel/core_pattern")),
    ],
    "aslr": [
        good("2"),
        bad("0", {"/proc/sys/kernel/randomize_va_space": "0"}),
        unknown("not reported", without("/proc/sys/kernel/randomize_va_space")),
    ],
}


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_is_made_good_and_bad(name: str) -> None:
    """A check that joins has to be shown both ways."""
    assert {Verdict.GOOD, Verdict.BAD} <= {case.verdict for case in CASES[name]}


def test_there_is_no_case_of_a_check_that_is_gone() -> None:
    assert set(CASES) == set(CHECKS)


@pytest.mark.parametrize(
    ("name", "case"),
    [
        pytest.param(name, case, id=f"{name}-{case.verdict}-{number}")
        for name, cases in CASES.items()
        for number, case in enumerate(cases)
    ],
)
def test_what_a_check_finds(name: str, case: Case, tmp_path: Path) -> None:
    more = dict(case.more)
    last = more.pop("last", None)
    system = fabricate(tmp_path, case.changes, **more)
    if last is not None:
        last = fingerprint(None, system.folder, system).model_copy(update=last)
    finding = CHECKS[name].find(Look(system, last))
    assert finding.verdict is case.verdict, finding.value
    assert case.value in finding.value


def test_a_good_machine_is_good_in_all(tmp_path: Path) -> None:
    system = fabricate(tmp_path, later={STAT: "cpu  1010 0 1010 98980 0 0 0 0"})
    look = Look(system, fingerprint(None, system.folder, system))
    verdicts = {name: check.find(look).verdict for name, check in CHECKS.items()}
    assert set(verdicts.values()) == {Verdict.GOOD}


def test_a_machine_that_reports_nothing_ends_no_check(tmp_path: Path) -> None:
    mute = System(
        tree=Tree(tmp_path),
        program_output=lambda _: "",
        space=lambda _: None,
        synchronised=lambda: None,
        sleep=lambda _: None,
    )
    look = Look(mute)
    findings = {name: check.find(look) for name, check in CHECKS.items()}
    assert [name for name, found in findings.items() if found.verdict is Verdict.BAD] == []


def test_every_check_answers_on_this_machine(tmp_path: Path) -> None:
    look = Look(System(folder=tmp_path, interval=0.05))
    for check in CHECKS.values():
        assert check.find(look).value


def test_two_readings_are_taken_once(tmp_path: Path) -> None:
    slept: list[float] = []
    system = System(
        tree=Tree(tmp_path), program_output=lambda _: "", sleep=slept.append, interval=0.25
    )
    look = Look(system)
    for check in CHECKS.values():
        check.find(look)
    assert slept == [0.25]


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_every_check_says_why_and_how(check: Any) -> None:
    assert re.fullmatch(r"[a-z][a-z_]*", check.name)
    assert check.why.endswith(".") and check.why[0].isupper()
    assert check.remedy and not check.remedy.endswith(".")


def test_names_are_of_one_check_each() -> None:
    assert len(CHECKS) == sum(len(checks) for checks in GROUPS.values())


def test_only_what_makes_numbers_worthless_refuses_by_default() -> None:
    refusing = {name for name, check in CHECKS.items() if check.level is Severity.REFUSE}
    assert refusing == {"swapping", "memory_broken", "disk_full"}
