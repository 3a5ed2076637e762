from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.machine.checks import CHECKS
from pipeline.machine.checks.base import Look, Severity, Verdict
from pipeline.machine.kernel_files import Tree
from pipeline.machine.preflight import Policy, examine, preflight
from pipeline.machine.system import System
from pipeline.text.errors import UserError
from tests.machine.fabricated import CPU, fabricate, write

IDLE = "cpu  1010 0 1010 98980 0 0 0 0"
BUSY = "cpu  1500 0 1100 98400 0 0 0 0"
CALM = {"/proc/stat": IDLE}
STORM = {"/proc/vmstat": "pswpin 50000\npswpout 6"}
TURBO = {f"{CPU}/cpufreq/boost": "1"}


class Reporter(list[str]):
    """The lines that were said."""

    def __call__(self, text: str) -> None:
        self.append(text)


@pytest.mark.parametrize(
    ("policy", "levels"),
    [
        (Policy(), {"swapping": Severity.REFUSE, "turbo": Severity.WARN, "smt": Severity.IGNORE}),
        (Policy(refuse=("turbo",)), {"turbo": Severity.REFUSE, "smt": Severity.IGNORE}),
        (Policy(warn=("swapping",)), {"swapping": Severity.WARN, "turbo": Severity.WARN}),
        (Policy(ignore=("all",)), {"swapping": Severity.IGNORE, "turbo": Severity.IGNORE}),
        (
            Policy(ignore=("all",), refuse=("turbo",)),
            {"swapping": Severity.IGNORE, "turbo": Severity.REFUSE},
        ),
        (
            Policy(refuse=("all",), ignore=("turbo",)),
            {"smt": Severity.REFUSE, "turbo": Severity.IGNORE},
        ),
    ],
)
def test_levels(policy: Policy, levels: dict[str, Severity]) -> None:
    assert {name: policy.level(CHECKS[name]) for name in levels} == levels


def test_a_good_machine_measures_without_a_word(tmp_path: Path) -> None:
    reported = Reporter()
    system = fabricate(tmp_path, later=CALM)
    assert preflight(system, Policy(refuse=("all",)), None, reported) == {}
    assert reported == []


def test_warnings_are_one_line_and_are_kept(tmp_path: Path) -> None:
    reported = Reporter()
    system = fabricate(tmp_path, TURBO, synchronised=False, later=CALM)
    assert preflight(system, Policy(), None, reported) == {
        "turbo": "on",
        "clock": "not synchronised",
    }
    assert reported == [
        "preflight: turbo: on; clock: not synchronised. `nightshift doctor` explains the effect "
        "and the remedy"
    ]


def test_a_warning_is_reported_once_and_kept_every_time(tmp_path: Path) -> None:
    reported = Reporter()
    system = fabricate(tmp_path, TURBO, synchronised=False, later=CALM)
    kept = preflight(system, Policy(), None, reported, ["turbo"])
    assert kept == {"turbo": "on", "clock": "not synchronised"}
    assert [line.startswith("preflight: clock: not synchronised. ") for line in reported] == [True]
    assert preflight(system, Policy(), None, reported, kept) == kept
    assert len(reported) == 1


def test_what_makes_numbers_worthless_is_refused(tmp_path: Path) -> None:
    system = fabricate(tmp_path, TURBO, later=CALM | STORM)
    with pytest.raises(UserError, match="not fit to measure: swapping is 49995 pages/s;") as error:
        preflight(system, Policy(), None, Reporter())
    assert "\n" not in str(error.value)
    assert 'warn = ["swapping"] in [preflight]' in str(error.value)


def test_what_is_let_pass_is_reported_and_what_is_ignored_is_not_looked_at(tmp_path: Path) -> None:
    system = fabricate(tmp_path, TURBO, later=CALM | STORM)
    let = Policy(warn=("swapping",), ignore=("turbo",))
    assert preflight(system, let, None, Reporter()) == {"swapping": "49995 pages/s"}

    def asked(_: object) -> str:
        raise AssertionError("a check that is ignored was made")

    def slept(_: float) -> None:
        raise AssertionError("there was nothing to wait for")

    deaf = replace(system, program_output=asked, sleep=slept)
    assert preflight(deaf, Policy(ignore=("all",), wait=60.0), None, Reporter()) == {}


def test_an_unreadable_fact_refuses_nothing(tmp_path: Path) -> None:
    mute = System(
        program_output=lambda _: "",
        space=lambda _: None,
        synchronised=lambda: None,
        sleep=lambda _: None,
        tree=Tree(tmp_path),
    )
    assert preflight(mute, Policy(refuse=("all",)), None, Reporter()) == {}


class Neighbour:
    """Somebody who computes for so many more pauses."""

    def __init__(self, root: Path, pauses: int) -> None:
        self.slept: list[float] = []
        self._root, self._left = root, pauses
        self._total = self._busy = 0

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        # A look takes an interval, the pause between two is longer.
        self._left -= seconds == 1.0
        self._total += 1000
        self._busy += 500 if self._left > 0 else 5
        idle = 98000 + self._total - self._busy
        write(self._root, {"/proc/stat": f"cpu  {1000 + self._busy} 0 1000 {idle} 0 0 0 0"})


def neighboured(root: Path, pauses: int) -> tuple[System, Neighbour]:
    neighbour = Neighbour(root, pauses)
    return replace(fabricate(root), sleep=neighbour.sleep, interval=0.25), neighbour


def test_a_night_waits_until_it_is_calm(tmp_path: Path) -> None:
    system, neighbour = neighboured(tmp_path, 3)
    reported = Reporter()
    assert preflight(system, Policy(wait=10.0), None, reported) == {}
    assert neighbour.slept.count(1.0) == 3
    assert reported == [
        "waiting up to 10s for this machine to become idle: other processes use 50 % of the "
        "processors"
    ]


def test_a_night_waits_no_longer_than_it_may(tmp_path: Path) -> None:
    system, neighbour = neighboured(tmp_path, 1000)
    reported = Reporter()
    found = preflight(system, Policy(wait=2.5), None, reported)
    assert found == {"load": "50 % of the processors"}
    assert [seconds for seconds in neighbour.slept if seconds != 0.25] == [1.0, 1.0, 0.5]
    assert len(reported) == 2


@pytest.mark.parametrize("policy", [Policy(), Policy(wait=60.0, ignore=("load",))])
def test_a_night_that_may_not_wait_or_need_not(tmp_path: Path, policy: Policy) -> None:
    system, neighbour = neighboured(tmp_path, 1000)
    preflight(system, policy, None, Reporter())
    assert neighbour.slept == [0.25]


def test_a_busy_machine_is_refused_only_after_the_wait(tmp_path: Path) -> None:
    system, neighbour = neighboured(tmp_path, 2)
    assert preflight(system, Policy(refuse=("load",), wait=5.0), None, Reporter()) == {}
    assert neighbour.slept.count(1.0) == 2


def test_the_last_run_is_compared_with(tmp_path: Path) -> None:
    system = fabricate(tmp_path, later=CALM)
    last = Look(system).machine.model_copy(update={"kernel": "6.1.0-29-amd64"})
    assert preflight(system, Policy(), last, Reporter()) == {
        "changed": "kernel 6.1.0-29-amd64 -> 6.1.0-30-amd64"
    }


def test_the_doctor_examines_everything(tmp_path: Path) -> None:
    system = fabricate(tmp_path, TURBO, later=CALM)
    found = {each.name: each for each in examine(Look(system), Policy(refuse=("turbo",)))}
    assert set(found) == set(CHECKS)
    turbo = found["turbo"]
    assert (turbo.group, turbo.verdict, turbo.level) == ("processor", Verdict.BAD, Severity.REFUSE)
    assert turbo.why == CHECKS["turbo"].why and turbo.remedy == CHECKS["turbo"].remedy


def test_this_machine_is_refused_for_nothing_that_a_trial_cannot_fix(tmp_path: Path) -> None:
    """By default a laptop, a virtual machine or a container may measure."""
    reported = Reporter()
    found = preflight(System(folder=tmp_path, interval=0.05), Policy(), None, reported)
    assert set(found) <= {name for name, check in CHECKS.items() if check.level is Severity.WARN}
