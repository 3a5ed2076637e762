"""What each setting asks of machines of several kinds."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from pipeline.machine.tune.desired_value import DesiredValue, KnobRequest, UnavailableSetting
from pipeline.machine.tune.plan import desired_values
from pipeline.machine.tune.settings import TuneSettings
from tests.fakes.kernel import FILES, Machine

CPU = "/sys/devices/system/cpu"
NOTHING = TuneSettings(
    governor="keep", turbo="keep", thp="keep", numa_balancing="keep", io_scheduler="keep"
)


def requested(
    tmp_path: Path, changes: dict[str, object], files: dict[str, str]
) -> list[KnobRequest]:
    """Return what settings ask beyond nothing; a file without content is not there."""
    have = {path: text for path, text in {**FILES, **files}.items() if text}
    machine = Machine(tmp_path).make(have)
    return list(desired_values(NOTHING.model_copy(update=changes), machine.host))


def test_what_is_kept_is_not_asked_for(tmp_path: Path) -> None:
    assert requested(tmp_path, {}, {}) == []


NO_INTEL = {f"{CPU}/intel_pstate/no_turbo": ""}


@pytest.mark.parametrize(
    ("turbo", "files", "expected"),
    [
        ("off", {}, [DesiredValue("turbo", f"{CPU}/intel_pstate/no_turbo", "1")]),
        ("on", {}, [DesiredValue("turbo", f"{CPU}/intel_pstate/no_turbo", "0")]),
        (
            "off",
            {**NO_INTEL, f"{CPU}/cpufreq/boost": "1"},
            [DesiredValue("turbo", f"{CPU}/cpufreq/boost", "0")],
        ),
        (
            "on",
            {**NO_INTEL, f"{CPU}/cpufreq/policy0/boost": "0", f"{CPU}/cpufreq/policy1/boost": "0"},
            [
                DesiredValue("turbo", f"{CPU}/cpufreq/policy0/boost", "1"),
                DesiredValue("turbo", f"{CPU}/cpufreq/policy1/boost", "1"),
            ],
        ),
        (
            "off",
            NO_INTEL,
            [UnavailableSetting("turbo", "the kernel has no switch for it on this machine")],
        ),
    ],
    ids=["Intel off", "Intel on", "AMD", "AMD each", "virtual"],
)
def test_turbo(
    tmp_path: Path, turbo: str, files: dict[str, str], expected: list[KnobRequest]
) -> None:
    assert requested(tmp_path, {"turbo": turbo}, files) == expected


@pytest.mark.parametrize(
    ("smt", "control", "expected"),
    [
        ("off", "on", [DesiredValue("smt", f"{CPU}/smt/control", "off")]),
        ("on", "off", [DesiredValue("smt", f"{CPU}/smt/control", "on")]),
        ("off", "notsupported", []),
        ("off", "forceoff", []),
        ("off", "", []),
        (
            "on",
            "notimplemented",
            [
                UnavailableSetting(
                    "smt",
                    "these processors have no second threads, or they are permanently disabled",
                )
            ],
        ),
    ],
)
def test_smt(tmp_path: Path, smt: str, control: str, expected: list[KnobRequest]) -> None:
    assert requested(tmp_path, {"smt": smt}, {f"{CPU}/smt/control": control}) == expected


def test_a_governor_that_the_kernel_does_not_know(tmp_path: Path) -> None:
    found = requested(tmp_path, {"governor": "ondemand"}, {})
    assert found[0] == UnavailableSetting(
        "governor",
        f"{CPU}/cpufreq/policy0/scaling_governor supports only performance, powersave, schedutil",
    )
    assert len(found) == 4


@pytest.mark.parametrize(("limit", "left_out"), [(0, 8), (2, 4), (169, 4), (170, 0)])
def test_idle_states_that_take_longer_are_left_out(
    tmp_path: Path, limit: int, left_out: int
) -> None:
    assert len(requested(tmp_path, {"idle_latency_us": limit}, {})) == left_out


def test_a_limit_of_dirty_memory_in_bytes_goes_before(tmp_path: Path) -> None:
    files = {"/proc/sys/vm/dirty_bytes": "1048576"}
    assert requested(tmp_path, {"dirty_ratio": 5, "dirty_background_ratio": 2}, files) == [
        UnavailableSetting("dirty_ratio", "/proc/sys/vm/dirty_bytes is set and overrides it"),
        DesiredValue("dirty_background_ratio", "/proc/sys/vm/dirty_background_ratio", "2"),
    ]


def test_only_disks_that_do_not_rotate_have_their_scheduler_set(tmp_path: Path) -> None:
    path = "/sys/block/nvme0n1/queue/scheduler"
    assert requested(tmp_path, {"io_scheduler": "none"}, {}) == [
        DesiredValue("io_scheduler", path, "none")
    ]
    assert requested(tmp_path, {"io_scheduler": "bfq"}, {}) == [
        UnavailableSetting("io_scheduler", f"{path} supports only none, mq-deadline, kyber")
    ]


def test_a_timer_that_is_not_there(tmp_path: Path) -> None:
    assert requested(tmp_path, {"stop_timers": ("apt-daily.timer", "other.timer")}, {}) == [
        DesiredValue("stop_timers", "timer apt-daily.timer", "inactive"),
        UnavailableSetting("stop_timers", "systemd has no unit other.timer on this machine"),
    ]


@pytest.mark.parametrize("unit", ["--now.timer", "a b.timer", "apt-daily.service", "/x.timer", ""])
def test_a_timer_is_a_name_and_no_option(unit: str) -> None:
    with pytest.raises(ValidationError):
        TuneSettings(stop_timers=(unit,))


@pytest.mark.parametrize("governor", ["../x", "Performance", "a\nb", ""])
def test_a_governor_is_a_word(governor: str) -> None:
    with pytest.raises(ValidationError):
        TuneSettings(governor=governor)
