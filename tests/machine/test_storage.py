from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.machine.storage import Mount, disks_of, mount_of, mounted
from tests.machine.fabricated import NVME, fabricate

MOUNTINFO = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard
30 27 259:1 / /data rw - xfs /dev/nvme1n1 rw
31 27 259:2 / /data rw - btrfs /dev/nvme2n1 rw
32 27 0:40 / /with\040space rw - tmpfs tmpfs rw
a line that is cut
"""


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("/srv/x", Mount("ext4", "/dev/vda1", "/", ("discard", "relatime", "rw"))),
        ("/data/deep/er", Mount("btrfs", "/dev/nvme2n1", "/data", ("rw",))),
        ("/database", Mount("ext4", "/dev/vda1", "/", ("discard", "relatime", "rw"))),
        ("/with space/x", Mount("tmpfs", "tmpfs", "/with space", ("rw",))),
    ],
)
def test_mounted(folder: str, expected: Mount) -> None:
    assert mounted(Path(folder), MOUNTINFO) == expected


def test_where_nothing_is_reported() -> None:
    assert mounted(Path("/data"), "") is None


def test_a_file_system_in_memory_has_no_disk(tmp_path: Path) -> None:
    mount = "27 1 0:40 / / rw - tmpfs tmpfs rw"
    tree = fabricate(tmp_path, {"/proc/self/mountinfo": mount}).tree
    assert disks_of(tree, mount_of(tree, Path("/data"))) == ()


def test_every_disk_of_an_array_under_a_volume(tmp_path: Path) -> None:
    second = "/sys/devices/pci0000:00/ata1/sdb"
    virtual = "/sys/devices/virtual/block"
    system = fabricate(
        tmp_path,
        {
            "/proc/self/mountinfo": "27 1 253:0 / /data rw - xfs /dev/mapper/data rw",
            f"{virtual}/dm-0/queue/rotational": "0",
            f"{virtual}/md0/queue/rotational": "0",
            f"{second}/size": "1000",
            f"{second}/device/rev": "1.01",
            f"{second}/queue/rotational": "1",
            f"{second}/sdb1/partition": "1",
            "/dev/dm-0": "",
        },
        links={
            "/dev/mapper/data": "/dev/dm-0",
            "/sys/class/block/dm-0": f"{virtual}/dm-0",
            f"{virtual}/dm-0/slaves/md0": f"{virtual}/md0",
            f"{virtual}/md0/slaves/nvme0n1p1": f"{NVME}/nvme0n1p1",
            f"{virtual}/md0/slaves/sdb1": f"{second}/sdb1",
        },
    )
    disks = disks_of(system.tree, mount_of(system.tree, Path("/data/x")))
    assert [disk.name for disk in disks] == ["nvme0n1", "sdb"]
    assert disks[1].rotational is True
    assert disks[1].size_bytes == 512_000
    assert disks[1].firmware == "1.01"
