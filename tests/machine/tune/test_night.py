"""A machine is tuned for a night and as before after it, whatever ended the night."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.machine.tune.night import restore_night, tuned
from pipeline.machine.tune.one_shot import DROP_CACHES, do_once, foreseen
from pipeline.machine.tune.record import TuneRecord
from pipeline.machine.tune.settings import TuneSettings
from pipeline.machine.tune.tuner import KnobResult, Tuner
from pipeline.text.errors import UserError
from tests.fakes.kernel import Machine
from tests.machine.tune.killed import ALL

ONCE = ALL.model_copy(update={"fstrim": True})


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine").make()


@pytest.fixture
def tuner(machine: Machine, tmp_path: Path) -> Tuner:
    return Tuner(machine.host, TuneRecord(tmp_path / "run/tuned.json"))


def settled(machine: Machine) -> dict[str, bytes]:
    """Return what is restored: what is done once is not."""
    return {path: text for path, text in machine.content().items() if f"/{path}" != DROP_CACHES}


def test_a_night_is_tuned_and_then_as_before(machine: Machine, tuner: Tuner) -> None:
    before, reported = settled(machine), list[str]()
    with tuned(tuner, ONCE, reported.append):
        assert machine.host.tree.read("/proc/sys/vm/swappiness") == "1"
        assert machine.host.tree.read(DROP_CACHES) == "3"
        assert ("fstrim", "--all", "--quiet-unsupported") in machine.ran
    assert settled(machine) == before
    assert reported == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_a_night_that_is_stopped_is_as_before(
    machine: Machine, tuner: Tuner, error: type[BaseException]
) -> None:
    before = settled(machine)
    with pytest.raises(error), tuned(tuner, ALL, lambda _: None):
        raise error
    assert settled(machine) == before


@pytest.mark.parametrize("settings", [ALL, None], ids=["tuned again", "not tuned any more"])
def test_what_a_killed_night_left_is_restored_by_the_next(
    machine: Machine, tuner: Tuner, settings: TuneSettings | None
) -> None:
    before = settled(machine)
    tuner.set(ALL, by_hand=False)
    assert settled(machine) != before
    with tuned(tuner, settings, lambda _: None):
        assert (settled(machine) == before) == (settings is None)
    assert settled(machine) == before


def test_what_was_set_by_hand_stays_after_a_night(machine: Machine, tuner: Tuner) -> None:
    before = settled(machine)
    tuner.set(TuneSettings(swappiness=1), by_hand=True)
    by_hand = settled(machine)
    with tuned(tuner, None, lambda _: None):
        assert settled(machine) == by_hand
    with tuned(tuner, ALL, lambda _: None):
        pass
    assert machine.host.tree.read("/proc/sys/vm/swappiness") == "1"
    assert restore_night(tuner) == []
    tuner.restore()
    assert settled(machine) == before


def test_what_cannot_be_done_is_reported_and_ends_no_night(machine: Machine, tuner: Tuner) -> None:
    (machine.root / "proc/sys/vm/swappiness").unlink()
    reported: list[str] = []
    with tuned(tuner, ALL, reported.append):
        pass
    assert reported == [
        "tune: swappiness: unavailable: /proc/sys/vm/swappiness is missing",
    ]


def test_what_cannot_be_restored_at_all_is_reported(tuner: Tuner) -> None:
    reported: list[str] = []
    with tuned(tuner, TuneSettings(), reported.append):
        tuner.record.path.write_text("{")
    (line,) = reported
    assert (
        "is damaged, so the original settings of this machine are unknown; delete the file "
        "and reboot: that restores the settings"
    ) in line
    with pytest.raises(UserError, match="is damaged"):
        restore_night(tuner)


def test_what_is_done_once_is_done_as_asked(machine: Machine) -> None:
    neither = TuneSettings(drop_caches=False)
    assert foreseen(neither) == do_once(neither, machine.host) == []
    due, done = foreseen(ONCE), do_once(ONCE, machine.host)
    assert [each.setting for each in due] == [each.setting for each in done]
    assert ({each.did for each in due}, {each.did for each in done}) == (
        {KnobResult.DUE},
        {KnobResult.DONE},
    )

    def refuse(what: str) -> None:
        raise OSError(30, f"Read-only file system: {what}")

    machine.before = refuse
    refused = do_once(ONCE, machine.host)
    assert {each.did for each in refused} == {KnobResult.REFUSED}
    assert all(each.why.startswith("Read-only file system") for each in refused)
