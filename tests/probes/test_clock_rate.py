from __future__ import annotations

from pathlib import Path

from pipeline.machine.kernel_files import Tree
from pipeline.probes.clock_rate import ClockRate


def test_the_fastest_processor_is_read(tmp_path: Path) -> None:
    for number, rate in enumerate((1_200_000, 3_700_000)):
        folder = tmp_path / f"sys/devices/system/cpu/cpu{number}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(f"{rate}\n")
    assert ClockRate(Tree(tmp_path)).read() == {"cpu.hz": 3.7e9}


def test_a_machine_without_a_clock_rate_gives_nothing_rather_than_zero(tmp_path: Path) -> None:
    assert ClockRate(Tree(tmp_path)).read() == {}
