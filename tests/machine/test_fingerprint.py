from __future__ import annotations

import os
import re
from pathlib import Path

import psutil
import pytest

from pipeline.machine.fingerprint import (
    cpu_model,
    derive_class,
    fingerprint,
    memory_gb,
    mounted,
    os_name,
    scale_name,
)
from pipeline.machine.tree import chosen

GB = 2**30
MOUNTINFO = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard
30 27 259:1 / /data rw - xfs /dev/nvme1n1 rw
31 27 259:2 / /data rw - btrfs /dev/nvme2n1 rw
32 27 0:40 / /with\040space rw - tmpfs tmpfs rw
"""


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


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("/srv/x", ("ext4", "/dev/vda1")),
        ("/data/deep/er", ("btrfs", "/dev/nvme2n1")),
        ("/database", ("ext4", "/dev/vda1")),
        ("/with space/x", ("tmpfs", "tmpfs")),
    ],
)
def test_mounted(folder: str, expected: tuple[str, str]) -> None:
    assert mounted(Path(folder), MOUNTINFO) == expected


def test_chosen() -> None:
    assert chosen("always [madvise] never\n") == "madvise"
    assert chosen("60\n") == "60"
