"""A setting of this machine's own kernel is tuned and given back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.machine.kernel_files import Tree
from pipeline.machine.tune.host import Host
from pipeline.machine.tune.record import TuneRecord
from pipeline.machine.tune.settings import TuneSettings
from pipeline.machine.tune.tuner import KnobResult, Tuner

SWAPPINESS = Path("/proc/sys/vm/swappiness")


@pytest.mark.skipif(
    os.geteuid() != 0 or not os.access(SWAPPINESS, os.W_OK),
    reason="only root may set the swappiness of this machine, where it is not read-only",
)
def test_this_machine_itself_is_set_and_restored(tmp_path: Path) -> None:
    before = SWAPPINESS.read_text()
    tuner = Tuner(Host(Tree()), TuneRecord(tmp_path / "run/tuned.json"))
    other = 1 if before.strip() != "1" else 2
    keep = TuneSettings(
        governor="keep",
        turbo="keep",
        thp="keep",
        numa_balancing="keep",
        io_scheduler="keep",
        swappiness=other,
    )
    try:
        (done,) = tuner.set(keep, by_hand=True)
        if done.did is KnobResult.REFUSED:
            pytest.skip(f"the kernel does not let vm.swappiness be set here: {done.why}")
        assert SWAPPINESS.read_text() == f"{other}\n"
        assert [each.did for each in tuner.restore()] == [KnobResult.RESTORED]
        assert SWAPPINESS.read_text() == before
    finally:
        if SWAPPINESS.read_text() != before:
            SWAPPINESS.write_text(before)
