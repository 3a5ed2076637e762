from __future__ import annotations

import os
import re
from pathlib import Path

import psutil
import pytest

from pipeline.machine.fingerprint import (
    cmdline,
    cpu_model,
    derive_class,
    fingerprint,
    memory_gb,
    memory_speed,
    os_name,
    processors,
    scale_name,
)
from pipeline.machine.kernel_files import Tree, chosen
from pipeline.machine.system import System
from pipeline.model import Disk, Machine
from tests.machine.fabricated import fabricate

GB = 2**30


def test_this_machine() -> None:
    machine = fingerprint(None, Path("/"))
    assert machine.cores == os.cpu_count()
    assert machine.memory_bytes <= psutil.virtual_memory().total
    assert machine.kernel == os.uname().release
    assert re.fullmatch(r"[a-z0-9-]+-c\d+r\d+", machine.machine_class)
    assert " on " in machine.storage
    assert all(machine.settings.values())


def test_a_pinned_process_sees_the_whole_machine() -> None:
    whole = os.sched_getaffinity(0)
    before = fingerprint().cores
    os.sched_setaffinity(0, {min(whole)})
    try:
        assert fingerprint().cores == before
    finally:
        os.sched_setaffinity(0, whole)


def test_a_named_class_is_taken_as_it_is() -> None:
    assert fingerprint("ax162-s").machine_class == "ax162-s"


def test_storage_of_a_folder_that_does_not_exist_yet(tmp_path: Path) -> None:
    there = fingerprint(None, tmp_path).storage
    assert fingerprint(None, tmp_path / "not" / "yet").storage == there


@pytest.mark.parametrize(
    ("gb", "expected"),
    [
        (0.4, 1),
        (1.9, 2),
        (3.8, 4),
        (7.7, 8),
        (15.5, 16),
        (16, 16),
        (23.54, 24),
        (30.6, 32),
        (31.1, 32),
        (62.7, 64),
        (94.2, 96),
        (125.6, 128),
        (251.5, 256),
    ],
)
def test_memory_is_what_was_installed(gb: float, expected: int) -> None:
    assert memory_gb(int(gb * GB)) == expected


def test_scale_name_is_as_published() -> None:
    assert scale_name(8, int(31.1 * GB)) == "c8r32"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("AMD EPYC 9454P 48-Core Processor", "amd-epyc-9454p-c8r32"),
        ("Intel(R) Xeon(R) Silver 4214R CPU @ 2.40GHz", "intel-xeon-silver-4214r-c8r32"),
        ("", "unknown-c8r32"),
    ],
)
def test_a_class_is_derived_from_the_processor(model: str, expected: str) -> None:
    assert derive_class(model, 8, 32 * GB) == expected


def test_cpu_model() -> None:
    assert cpu_model("processor\t: 0\nmodel name\t: AMD  EPYC\nflags\t\t: a b\n") == "AMD EPYC"
    arm = cpu_model("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n")
    assert arm.endswith("0x41-0xd4f")


def test_os_name() -> None:
    assert os_name('NAME="x"\nPRETTY_NAME="Debian GNU/Linux 12"\n') == "Debian GNU/Linux 12"
    assert os_name("") == "unknown"


def test_a_server_that_reports_everything(tmp_path: Path) -> None:
    machine = fingerprint("ax162-s", Path("/data"), fabricate(tmp_path))
    software = {"gcc": "12.2.0", "libc": machine.software["libc"]}
    assert machine == Machine(
        machine_class="ax162-s",
        hostname="bench-1",
        cpu_model="AMD EPYC 9454P 48-Core Processor",
        cores=4,
        memory_bytes=131072000 * 1024,
        kernel="6.1.0-30-amd64",
        operating_system="Debian GNU/Linux 12 (bookworm)",
        virtualised="none",
        storage="ext4 on nvme0n1p1 (Micron_7450_MTFDKCC1T9TFR, ssd)",
        microcode="0xa10113e",
        sockets=1,
        physical_cores=4,
        numa_nodes=1,
        memory_speed="4800 MT/s",
        mount="/ discard,noatime,rw",
        disks=(
            Disk(
                name="nvme0n1",
                model="Micron_7450_MTFDKCC1T9TFR",
                firmware="E2MU110",
                size_bytes=1_920_383_410_176,
                rotational=False,
                scheduler="none",
                write_cache="write through",
            ),
        ),
        cmdline="root=/dev/nvme0n1p1 ro quiet",
        software=software,
        settings={
            "governor": "performance",
            "scaling_driver": "acpi-cpufreq",
            "turbo": "0",
            "smt": "off",
            "transparent_hugepage": "madvise",
            "aslr": "2",
            "swappiness": "1",
            "huge_pages": "0",
            "numa_balancing": "0",
            "clocksource": "tsc",
            "mitigation_spectre_v1": "usercopy/swapgs barriers",
        },
    )


def test_a_machine_that_reports_nothing_is_still_one(tmp_path: Path) -> None:
    mute = System(tree=Tree(tmp_path), program_output=lambda _: "")
    machine = fingerprint(None, Path("/data"), mute)
    assert machine.hostname == machine.kernel == machine.operating_system == "unknown"
    assert machine.storage == "unknown on unknown"
    assert machine.disks == ()
    assert machine.sockets is machine.physical_cores is machine.numa_nodes is None
    assert machine.settings == {}


def test_bundles_of_before_have_fewer_facts() -> None:
    older = {
        "machine_class": "a",
        "hostname": "b",
        "cpu_model": "c",
        "cores": 1,
        "memory_bytes": 2,
        "kernel": "d",
        "operating_system": "e",
        "virtualised": "f",
        "storage": "g",
        "settings": {"governor": "h"},
    }
    machine = Machine.model_validate(older)
    assert machine.model_dump(exclude_unset=True) == older
    assert machine.microcode == ""


def test_a_container_may_use_no_more_than_its_limit(tmp_path: Path) -> None:
    limited = {"/sys/fs/cgroup/memory.max": str(8 * GB)}
    assert fingerprint(None, Path("/"), fabricate(tmp_path / "a", limited)).memory_bytes == 8 * GB
    free = {"/sys/fs/cgroup/memory.max": "max"}
    assert fingerprint(None, Path("/"), fabricate(tmp_path / "b", free)).memory_bytes > 100 * GB


def test_a_hypervisor_is_recognized_by_the_processor_if_by_nothing_else(tmp_path: Path) -> None:
    flags = {"/proc/cpuinfo": "flags\t\t: fpu hypervisor lahf_lm"}
    mute = {"systemd-detect-virt": ""}
    guest = fabricate(tmp_path / "a", flags, programs=mute)
    assert fingerprint(None, Path("/"), guest).virtualised == "hypervisor"
    host = fabricate(tmp_path / "b", programs=mute)
    assert fingerprint(None, Path("/"), host).virtualised == "none"


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [("0-3", (0, 1, 2, 3)), ("0,2-3,8", (0, 2, 3, 8)), ("0", (0,)), ("", ())],
)
def test_processors(ranges: str, expected: tuple[int, ...]) -> None:
    assert processors(ranges) == expected


def test_speeds_of_memory() -> None:
    module = "Memory Device\n\tSpeed: 5600 MT/s\n\tConfigured Memory Speed: {}\n"
    assert memory_speed(module.format("4800 MT/s") * 2) == "4800 MT/s"
    mixed = module.format("4800 MT/s") + module.format("3600 MT/s")
    assert memory_speed(mixed) == "3600 MT/s, 4800 MT/s"
    assert memory_speed(module.format("Unknown")) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ro quiet -- token=abc", "ro quiet"),
        ("-- x", ""),
        ("ro a--b=1 quiet", "ro a--b=1 quiet"),
        ("", ""),
    ],
)
def test_what_the_kernel_was_started_with(text: str, expected: str) -> None:
    assert cmdline(text) == expected


def test_chosen() -> None:
    assert chosen("always [madvise] never\n") == "madvise"
    assert chosen("60\n") == "60"
