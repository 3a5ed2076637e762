from __future__ import annotations

from typing import Any

import pytest

from pipeline.machine.differences import FingerprintDifference, differences
from pipeline.model import Disk, Machine

DISK = Disk(
    name="nvme0n1",
    model="Micron 7450",
    firmware="E2MU110",
    size_bytes=1_920_383_410_176,
    rotational=False,
    scheduler="none",
    write_cache="write through",
)
MACHINE = Machine(
    machine_class="ax162-s",
    hostname="bench-1",
    cpu_model="AMD EPYC 9454P",
    cores=48,
    memory_bytes=134_000_000_000,
    kernel="6.1.0-30-amd64",
    operating_system="Debian GNU/Linux 12 (bookworm)",
    virtualised="none",
    storage="ext4 on nvme0n1",
    microcode="0xa10113e",
    sockets=1,
    physical_cores=48,
    numa_nodes=1,
    memory_speed="4800 MT/s",
    mount="/data noatime,rw",
    disks=(DISK,),
    cmdline="ro quiet",
    software={"gcc": "12.2.0", "libc": "glibc 2.36"},
    settings={"governor": "performance", "numa_balancing": "0"},
)


def changed(**facts: Any) -> Machine:
    return Machine.model_validate(MACHINE.model_dump() | facts)


def test_a_machine_is_as_it_is() -> None:
    assert differences(MACHINE, MACHINE) == []


@pytest.mark.parametrize(
    ("facts", "reported"),
    [
        ({"hostname": "bench-2"}, "hostname bench-1 -> bench-2"),
        ({"cpu_model": "AMD EPYC 9455P"}, "processor AMD EPYC 9454P -> AMD EPYC 9455P"),
        ({"microcode": "0xa101148"}, "microcode 0xa10113e -> 0xa101148"),
        ({"sockets": 2}, "sockets 1 -> 2"),
        ({"physical_cores": 24}, "physical cores 48 -> 24"),
        ({"cores": 96}, "processors 48 -> 96"),
        ({"numa_nodes": 4}, "NUMA nodes 1 -> 4"),
        ({"memory_bytes": 268_000_000_000}, "memory 128 GB -> 256 GB"),
        ({"memory_speed": "3600 MT/s"}, "memory speed 4800 MT/s -> 3600 MT/s"),
        ({"kernel": "6.1.0-31-amd64"}, "kernel 6.1.0-30-amd64 -> 6.1.0-31-amd64"),
        ({"cmdline": "ro mitigations=off"}, "kernel parameters ro quiet -> ro mitigations=off"),
        ({"operating_system": "x"}, "operating system Debian GNU/Linux 12 (bookworm) -> x"),
        ({"virtualised": "kvm"}, "virtualised none -> kvm"),
        ({"storage": "xfs on nvme0n1"}, "storage ext4 on nvme0n1 -> xfs on nvme0n1"),
        ({"mount": "/data relatime,rw"}, "mount /data noatime,rw -> /data relatime,rw"),
        ({"software": {"gcc": "14.2.0"}}, "gcc 12.2.0 -> 14.2.0"),
        ({"settings": {"numa_balancing": "1"}}, "numa balancing 0 -> 1"),
    ],
)
def test_every_fact_is_reported(facts: dict[str, Any], reported: str) -> None:
    assert [str(found) for found in differences(MACHINE, changed(**facts))] == [reported]


def test_no_fact_is_forgotten() -> None:
    """A new field of the fingerprint has to be reported, or left out on purpose."""
    assert set(Machine.model_fields) == {
        "machine_class",  # What people call it.
        "hostname",
        "cpu_model",
        "cores",
        "memory_bytes",
        "kernel",
        "operating_system",
        "virtualised",
        "storage",
        "microcode",
        "sockets",
        "physical_cores",
        "numa_nodes",
        "memory_speed",
        "mount",
        "disks",
        "cmdline",
        "software",
        "settings",
    }


def test_what_a_kernel_keeps_for_itself_is_no_change_of_memory() -> None:
    assert differences(MACHINE, changed(memory_bytes=MACHINE.memory_bytes - 50_000_000)) == []


def test_what_one_does_not_know_is_no_difference() -> None:
    older = changed(
        microcode="",
        sockets=None,
        physical_cores=None,
        numa_nodes=None,
        memory_speed="",
        mount="",
        disks=(),
        cmdline="",
        software={},
        settings={"governor": "performance"},
        storage="unknown",
    )
    assert differences(older, MACHINE) == []
    assert differences(MACHINE, older) == []


def test_disks_that_came_went_and_changed() -> None:
    other = DISK.model_copy(update={"name": "nvme1n1"})
    updated = DISK.model_copy(update={"firmware": "E2MU200"})
    before = "Micron 7450, firmware E2MU110, 1920 GB, ssd, scheduler none, write through"
    after = before.replace("E2MU110", "E2MU200")
    assert differences(changed(disks=(DISK, other)), changed(disks=(updated,))) == [
        FingerprintDifference("disk nvme0n1", before, after),
        FingerprintDifference("disk nvme1n1", before, ""),
    ]
    came = differences(MACHINE, changed(disks=(DISK, other)))
    assert [str(found) for found in came] == [f"disk nvme1n1 none -> {before}"]
