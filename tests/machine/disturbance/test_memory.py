from __future__ import annotations

import os
from pathlib import Path

from pipeline.machine.disturbance.memory import (
    watch_memory_errors,
    watch_out_of_memory,
    watch_swapping,
)
from tests.machine.disturbance.trees import limits, reported

ERRORS = "/sys/devices/system/edac/mc/mc0/ce_count"
MANY = 20_000_000 // os.sysconf("SC_PAGE_SIZE")


def vmstat(*, swapped_in: int = 0, swapped_out: int = 0, killed: int = 0) -> dict[str, str]:
    lines = (f"pswpin {swapped_in}", f"pswpout {swapped_out}", f"oom_kill {killed}", "pgfault 9")
    return {"/proc/vmstat": "\n".join(lines)}


def test_what_was_swapped_either_way(tmp_path: Path) -> None:
    before = vmstat(swapped_in=7, swapped_out=7_000_000)
    some = vmstat(swapped_in=7 + MANY // 2, swapped_out=7_000_000 + MANY // 2)
    assert reported(watch_swapping, tmp_path, before, some) == "20 MB were swapped"
    few = vmstat(swapped_in=8, swapped_out=7_000_001)
    assert reported(watch_swapping, tmp_path, before, few) == ""
    assert reported(watch_swapping, tmp_path, before, few, within=limits(swapped="0MB")) != ""
    assert reported(watch_swapping, tmp_path / "silent", {}, {}) == ""


def test_a_process_that_was_killed_for_want_of_memory(tmp_path: Path) -> None:
    assert reported(watch_out_of_memory, tmp_path, vmstat(killed=3), vmstat(killed=4)) == (
        "the kernel killed 1 process because memory ran out"
    )
    assert reported(watch_out_of_memory, tmp_path, vmstat(killed=3), vmstat(killed=3)) == ""
    assert reported(watch_out_of_memory, tmp_path / "silent", {}, {}) == ""


def test_memory_that_errs(tmp_path: Path) -> None:
    before, after = {ERRORS: "3"}, {ERRORS: "5"}
    said = reported(watch_memory_errors, tmp_path, before, after)
    assert said == "memory had errors (2 mc0 ce); replace the memory module"
    assert reported(watch_memory_errors, tmp_path, after, after) == ""
    assert reported(watch_memory_errors, tmp_path / "without", {}, {}) == ""
