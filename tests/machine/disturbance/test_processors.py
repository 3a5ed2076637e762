from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.machine.disturbance.processors import (
    CLOCK_RATE,
    fastest,
    watch_clock_rate,
    watch_steal,
    watch_throttling,
)
from pipeline.machine.kernel_files import Tree
from pipeline.model import ProbeSample
from tests.machine.disturbance.trees import limits, put, reported, total

THROTTLED = "/sys/devices/system/cpu/cpu{}/thermal_throttle/{}_throttle_count"
FREQUENCY = "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq"


def test_stolen_time(tmp_path: Path) -> None:
    before = total(100, 100, 50)
    assert reported(watch_steal, tmp_path, before, total(570, 600, 80)) == (
        "the hypervisor took 6.0 % of the time of the processors"
    )
    assert reported(watch_steal, tmp_path, before, total(580, 600, 70)) == ""
    assert reported(watch_steal, tmp_path, before, {"/proc/stat": "intr 1"}) == ""
    assert reported(watch_steal, tmp_path, {"/proc/stat": "intr 1"}, total(1, 1, 90)) == ""


def test_what_counts_is_what_was_stolen_within_the_step(tmp_path: Path) -> None:
    assert reported(watch_steal, tmp_path, total(100, 0, 900_000), total(1100, 0, 900_000)) == ""


def test_processors_that_were_slowed_by_heat(tmp_path: Path) -> None:
    before = {THROTTLED.format(0, "core"): "7", THROTTLED.format(1, "package"): "40"}
    after = {THROTTLED.format(0, "core"): "8", THROTTLED.format(1, "package"): "43"}
    assert reported(watch_throttling, tmp_path, before, after) == (
        "processors were throttled because of heat 3 times (cpu1 package)"
    )
    assert reported(watch_throttling, tmp_path, after, after) == ""
    assert reported(watch_throttling, tmp_path / "virtual", {}, {}) == ""


def samples(*rates: float) -> list[ProbeSample]:
    return [ProbeSample(float(at), {CLOCK_RATE: 1e9 * rate}) for at, rate in enumerate(rates)]


def test_a_clock_rate_that_falls_within_the_step(tmp_path: Path) -> None:
    falls = samples(4.2, 4.2, 4.1, 4.2, 3.0, 3.0, 3.0, 2.9)
    assert reported(watch_clock_rate, tmp_path, {}, {}, samples=falls) == (
        "the processors' clock rate fell from 4.20 to 3.00 GHz within the step"
    )
    assert (
        reported(watch_clock_rate, tmp_path, {}, {}, samples=falls, within=limits(slowdown="30%"))
        == ""
    )


@pytest.mark.parametrize(
    "rates",
    [
        (4.2, 4.0, 4.1, 4.2, 3.9, 4.0, 3.9, 3.8),
        (1.2, 1.3, 4.2, 4.2, 4.2, 4.2),
        (4.2, 4.2, 4.2, 4.2, 0.8, 4.2, 4.2, 4.2),
        (4.2, 4.2, 4.2, 2.0, 2.0),
        (),
    ],
    ids=["noise", "waking up", "one reading", "too few", "not reported"],
)
def test_a_clock_rate_that_does_not(tmp_path: Path, rates: tuple[float, ...]) -> None:
    assert reported(watch_clock_rate, tmp_path, {}, {}, samples=samples(*rates)) == ""


def test_the_fastest_processor_reports_the_rate(tmp_path: Path) -> None:
    assert fastest(Tree(tmp_path)) is None
    files = {FREQUENCY.format(n): rate for n, rate in enumerate(("800000", "4200000", "<unknown>"))}
    assert fastest(put(tmp_path, files)) == 4.2e9
