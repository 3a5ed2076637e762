"""The verbs of tuning, on a machine that is made up; exit codes and lines."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from pipeline.machine.lease import machine_lease
from pipeline.machine.paths import tune_record
from pipeline.machine.tune.one_shot import DROP_CACHES
from pipeline.machine.tune.record import TuneRecord
from pipeline.machine.tune.tuner import Tuner
from pipeline.use_cases import reservation, tune
from pipeline.use_cases.measuring import MeasuringContext
from tests.cli.conftest import CONFIG, Nightshift, make_up_runs
from tests.fakes.kernel import Machine

SWAPPINESS = "/proc/sys/vm/swappiness"
TUNE = "\n[tune]\nswappiness = 1\n"


@pytest.fixture
def machine(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Let the verbs tune a machine that is made up."""
    made = Machine(tmp_path / "machine").make()

    def this_machine() -> Tuner:
        return Tuner(made.host, TuneRecord(tune_record()))

    for module in (tune, reservation):
        monkeypatch.setattr(module, "this_machine", this_machine)
    (folder / "nightshift.toml").write_text(CONFIG + TUNE)
    return made


def settled(machine: Machine) -> dict[str, bytes]:
    """Return what is restored: what is done once is not."""
    return {path: text for path, text in machine.content().items() if f"/{path}" != DROP_CACHES}


def test_set_status_restore(nightshift: Nightshift, machine: Machine) -> None:
    before = settled(machine)
    assert nightshift("tune", "status").out.startswith(
        "nightshift has changed no kernel setting of this machine\n"
        "`nightshift tune set` would change:\n"
    )
    tuned = nightshift("tune", "set")
    assert (tuned.code, tuned.err) == (0, "")
    assert f"swappiness {SWAPPINESS}: 60 -> 1\n" in tuned.out
    assert "drop_caches: done\n" in tuned.out
    assert machine.host.tree.read(SWAPPINESS) == "1"
    shown = nightshift("tune", "status")
    assert shown.out.startswith("tuned until `nightshift tune restore`:\n")
    assert f"  swappiness {SWAPPINESS}: originally 60\n" in shown.out
    assert "would change" not in shown.out
    restored = nightshift("tune", "restore")
    assert (restored.code, restored.err) == (0, "")
    assert f"swappiness {SWAPPINESS}: 1 -> 60\n" in restored.out
    assert settled(machine) == before
    again = nightshift("tune", "restore")
    assert (again.code, again.out) == (0, "there is no kernel setting to restore\n")


def test_a_dry_run_changes_nothing(nightshift: Nightshift, machine: Machine) -> None:
    before = machine.content()
    ran = nightshift("tune", "set", "--dry-run")
    assert ran.code == 0
    assert f"swappiness {SWAPPINESS}: 60 -> 1\n" in ran.out
    assert "drop_caches: due\n" in ran.out
    assert machine.content() == before
    assert not tune_record().exists()


def test_json(nightshift: Nightshift, machine: Machine) -> None:
    (change,) = [
        each
        for each in nightshift("tune", "set", "--format", "json").json
        if each["knob"] == SWAPPINESS
    ]
    assert (change["did"], change["before"], change["value"]) == ("set", "60", "1")
    shown = nightshift("tune", "status", "--format", "json").json
    assert shown["tuned"]["by_hand"] is True
    restored = nightshift("tune", "restore", "--format", "json").json
    assert {each["did"] for each in restored} == {"restored"}


def test_what_refuses_is_exit_code_2_and_all_else_is_done(
    nightshift: Nightshift, machine: Machine
) -> None:
    def refuse(what: str) -> None:
        if what == SWAPPINESS:
            raise OSError(30, "Read-only file system")

    machine.before = refuse
    ran = nightshift("tune", "set")
    assert ran.code == 2
    reported, last = ran.err.splitlines()
    assert reported == f"nightshift: tune: swappiness {SWAPPINESS}: not 1: Read-only file system"
    assert last.startswith("nightshift: 1 value could not be set")
    assert machine.host.tree.read("/sys/devices/system/cpu/intel_pstate/no_turbo") == "1"


def test_what_a_machine_lacks_is_a_failure_where_it_was_asked_for(
    nightshift: Nightshift, machine: Machine, folder: Path
) -> None:
    (machine.root / "sys/devices/system/cpu/intel_pstate/no_turbo").unlink()
    ran = nightshift("tune", "set")
    assert (ran.code, ran.err) == (
        0,
        "nightshift: tune: turbo: unavailable: the kernel has no switch for it on this machine\n",
    )
    (folder / "nightshift.toml").write_text(CONFIG + TUNE + 'turbo = "off"\n')
    assert nightshift("tune", "set").code == 2


def test_nobody_tunes_while_another_one_measures(nightshift: Nightshift, machine: Machine) -> None:
    before = machine.content()
    with machine_lease("a night").held():
        for verb in ("set", "restore"):
            ran = nightshift("tune", verb)
            assert ran.code == 2
            assert "is measuring on this machine; wait for a night to end" in ran.err
    assert machine.content() == before


def test_a_setting_that_there_is_not(nightshift: Nightshift, folder: Path) -> None:
    (folder / "nightshift.toml").write_text(CONFIG + '\n[tune]\nthp = "sometimes"\n')
    ran = nightshift("tune", "set")
    assert ran.code == 2
    assert "tune.thp" in ran.err and ran.err.count("\n") == 1


@pytest.mark.parametrize("nightly", [True, False])
def test_a_night_is_tuned_where_that_is_asked(
    nightshift: Nightshift,
    machine: Machine,
    folder: Path,
    night: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
    nightly: bool,
) -> None:
    text = CONFIG + TUNE + (f"nightly = {str(nightly).lower()}\n")
    (folder / "nightshift.toml").write_text(text)
    seen: list[str] = []
    make_up_runs(monkeypatch, lambda _: seen.append(machine.host.tree.read(SWAPPINESS)))
    before = settled(machine)
    ran = nightshift("nightly")
    assert ran.code == 0, ran.err
    assert set(seen) == ({"1"} if nightly else {"60"})
    assert settled(machine) == before
    assert not tune_record().exists()


def test_what_a_killed_night_left_is_restored_and_what_was_set_by_hand_is_not(
    nightshift: Nightshift, machine: Machine, folder: Path
) -> None:
    before = settled(machine)
    nightshift("tune", "set")
    restored = nightshift("tune", "restore", "--left")
    assert restored.out == "there is no kernel setting to restore\n"
    assert settled(machine) != before
    nightshift("tune", "restore")
    tuner = Tuner(machine.host, TuneRecord(tune_record()))
    tuner.set(MeasuringContext(folder / "nightshift.toml").config.tune.settings, by_hand=False)
    assert "at the end of the night" not in nightshift("tune", "status").out
    assert nightshift("tune", "status").out.startswith("tuned until the end of the night:\n")
    assert nightshift("tune", "restore", "--left").code == 0
    assert settled(machine) == before


def test_a_hub_that_only_concludes_is_not_tuned(
    nightshift: Nightshift, machine: Machine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    classes = '\n[[class]]\nname = "elsewhere"\ncores = 2\nmemory_gb = 8\n'
    (folder / "nightshift.toml").write_text(CONFIG + TUNE + "nightly = true\n" + classes)
    context = MeasuringContext(folder / "nightshift.toml")
    with reservation.reserved(context):
        assert machine.host.tree.read(SWAPPINESS) == "60"
    monkeypatch.setenv("NIGHTSHIFT_MACHINE_CLASS", "elsewhere")
    monkeypatch.setattr(logging.getLogger(reservation.__name__), "warning", pytest.fail)
    measuring = MeasuringContext(folder / "nightshift.toml")
    monkeypatch.setattr(MeasuringContext, "machines", property(lambda self: (self.machine,)))
    with reservation.reserved(measuring):
        assert machine.host.tree.read(SWAPPINESS) == "1"
    assert machine.host.tree.read(SWAPPINESS) == "60"
