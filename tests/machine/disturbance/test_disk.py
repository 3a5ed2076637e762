from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.machine.disturbance.base import Limits
from pipeline.machine.disturbance.disk import watch_link, watch_temperature
from tests.machine.disturbance.trees import reported


def sensor(kind: str, degrees: float, limit: float | None = None) -> dict[str, str]:
    folder = "/sys/class/hwmon/hwmon3"
    files = {
        f"{folder}/name": kind,
        f"{folder}/temp1_label": "Composite",
        f"{folder}/temp1_input": f"{1000 * degrees:.0f}",
    }
    return files | ({f"{folder}/temp1_max": f"{1000 * limit:.0f}"} if limit else {})


@pytest.mark.parametrize("kind", ["nvme", "drivetemp"])
def test_a_disk_that_is_too_hot_when_the_step_ends(tmp_path: Path, kind: str) -> None:
    said = reported(watch_temperature, tmp_path, sensor(kind, 40), sensor(kind, 74))
    assert said == f"the disk {kind} Composite was at 74 °C, above the limit of 70 °C"
    assert reported(watch_temperature, tmp_path, sensor(kind, 74), sensor(kind, 69)) == ""


def test_the_lower_of_the_two_limits_holds(tmp_path: Path) -> None:
    cool = sensor("nvme", 40)
    assert "above the limit of 65" in reported(
        watch_temperature, tmp_path, cool, sensor("nvme", 66, 65)
    )
    assert "above the limit of 70" in reported(
        watch_temperature, tmp_path, cool, sensor("nvme", 75, 82)
    )
    high = Limits(disk_celsius=90)
    assert reported(watch_temperature, tmp_path, cool, sensor("nvme", 75, 82), within=high) == ""


def test_what_is_no_disk_may_be_hotter(tmp_path: Path) -> None:
    assert reported(watch_temperature, tmp_path, {}, sensor("coretemp", 88)) == ""
    assert reported(watch_temperature, tmp_path / "without", {}, {}) == ""


def link(speed: str, lanes: int) -> dict[str, str]:
    folder = "/sys/class/nvme/nvme0/device"
    return {f"{folder}/current_link_speed": speed, f"{folder}/current_link_width": str(lanes)}


def test_a_link_that_becomes_slower(tmp_path: Path) -> None:
    fast = link("16.0 GT/s PCIe", 4)
    assert reported(watch_link, tmp_path, fast, link("2.5 GT/s PCIe", 4)) == (
        "the link of the disk nvme0 fell from 16 GT/s x4 to 2.5 GT/s x4"
    )
    assert "to 16 GT/s x2" in reported(watch_link, tmp_path, fast, link("16.0 GT/s PCIe", 2))
    assert reported(watch_link, tmp_path, link("2.5 GT/s PCIe", 4), fast) == ""
    assert reported(watch_link, tmp_path, fast, fast) == ""


def test_a_link_of_which_nothing_is_known(tmp_path: Path) -> None:
    assert reported(watch_link, tmp_path, {}, {}) == ""
    assert reported(watch_link, tmp_path, link("Unknown", 4), link("2.5 GT/s PCIe", 1)) == ""
