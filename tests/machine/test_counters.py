from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.machine.counters import (
    Shares,
    Temperature,
    Ticks,
    clock_ticks,
    increases,
    memory_errors,
    memory_events,
    shares,
    temperatures,
    throttled,
    ticks,
)
from pipeline.machine.kernel_files import Tree
from pipeline.machine.processes import read_processes


def tree_of(root: Path, files: dict[str, str]) -> Tree:
    for name, text in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return Tree(root)


def test_time_of_the_processors_without_that_of_guests_twice(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, {"/proc/stat": "cpu  10 1 5 70 4 1 2 7 900 90\ncpu0 1 1 1 1"})
    assert ticks(tree) == Ticks(total=100, idle=74, steal=7, interrupts=3)


@pytest.mark.parametrize("text", ["", "intr 1 2", "cpu  1 2 3"])
def test_a_kernel_that_does_not_show_its_time(tmp_path: Path, text: str) -> None:
    assert ticks(tree_of(tmp_path, {"/proc/stat": text})) is None


def test_shares_of_the_time_between_two_readings() -> None:
    assert shares(Ticks(1000, 500, 10), Ticks(1100, 550, 30)) == Shares(busy=0.3, steal=0.2)
    assert shares(Ticks(1000, 500, 10), Ticks(1000, 500, 10)) == Shares(0.0, 0.0)
    # Idle time that was taken back makes no processor more than busy.
    assert shares(Ticks(1000, 500, 0), Ticks(1100, 490, 0)) == Shares(1.0, 0.0)


def test_throttling_by_processor_and_what_grew(tmp_path: Path) -> None:
    folder = "/sys/devices/system/cpu/cpu{}/thermal_throttle/{}_throttle_count"
    tree = tree_of(
        tmp_path,
        {
            folder.format(0, "core"): "4",
            folder.format(0, "package"): "9",
            folder.format(12, "core"): "0",
            folder.format(13, "core"): "unreadable",
        },
    )
    before = throttled(tree)
    assert before == {"cpu0 core": 4, "cpu0 package": 9, "cpu12 core": 0}
    tree.write(folder.format(12, "core"), "2")
    assert increases(before, throttled(tree)) == {"cpu12 core": 2}


def test_a_counter_of_one_reading_only_has_not_grown() -> None:
    assert increases({"a": 1, "gone": 5}, {"a": 1, "new": 7}) == {}


def test_swapping_and_kills(tmp_path: Path) -> None:
    text = "nr_free_pages 5\npswpin 11\npswpout 12\noom_kill 1"
    tree = tree_of(tmp_path, {"/proc/vmstat": text})
    assert memory_events(tree) == {"pswpin": 11, "pswpout": 12, "oom_kill": 1}
    assert memory_events(Tree(tmp_path / "elsewhere")) == {}


def test_errors_of_memory(tmp_path: Path) -> None:
    folder = "/sys/devices/system/edac/mc/mc0"
    tree = tree_of(tmp_path, {f"{folder}/ce_count": "3", f"{folder}/ue_count": "0"})
    assert memory_errors(tree) == {"mc0 ce": 3, "mc0 ue": 0}


def test_temperatures_and_their_limits(tmp_path: Path) -> None:
    hwmon = "/sys/class/hwmon"
    tree = tree_of(
        tmp_path,
        {
            f"{hwmon}/hwmon0/name": "k10temp",
            f"{hwmon}/hwmon0/temp1_input": "61250",
            f"{hwmon}/hwmon0/temp1_label": "Tctl",
            f"{hwmon}/hwmon1/name": "nvme",
            f"{hwmon}/hwmon1/temp1_input": "40850",
            f"{hwmon}/hwmon1/temp1_label": "Composite",
            f"{hwmon}/hwmon1/temp1_max": "79850",
            f"{hwmon}/hwmon1/temp1_crit": "84850",
            f"{hwmon}/hwmon2/name": "nvme",
            f"{hwmon}/hwmon2/temp1_input": "30000",
            f"{hwmon}/hwmon2/temp1_max": "65261850",
            f"{hwmon}/hwmon2/temp2_input": "",
        },
    )
    assert temperatures(tree) == {
        "k10temp Tctl": Temperature(61.25, None),
        "nvme hwmon1 Composite": Temperature(40.85, 79.85),
        "nvme hwmon2 temp1": Temperature(30.0, None),
    }


def test_this_machine() -> None:
    before, after = ticks(Tree()), ticks(Tree())
    assert before is not None
    assert after is not None
    assert after.total >= before.total > 0
    mine = {pid: process for (pid, _), process in read_processes(Tree()).items()}[os.getpid()]
    assert mine.parent == os.getppid()
    assert clock_ticks() > 0
