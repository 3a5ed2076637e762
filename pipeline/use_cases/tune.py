"""Tune this machine by hand: set, restore, preview."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.config.tune import TuneSection
from pipeline.machine.lease import machine_lease
from pipeline.machine.tune import one_shot
from pipeline.machine.tune.night import restore_night, this_machine
from pipeline.machine.tune.record import Tuned
from pipeline.machine.tune.tuner import TuneOutcome


def foresee_tuning(section: TuneSection) -> list[TuneOutcome]:
    """Return the changes that :func:`tune_machine` would make."""
    return this_machine().foreseen(section.settings) + one_shot.foreseen(section.settings)


def tune_machine(section: TuneSection) -> list[TuneOutcome]:
    """Apply the settings of a section while nobody measures; the original values are recorded."""
    tuner = this_machine()
    with machine_lease().held():
        outcomes = tuner.set(section.settings, by_hand=True)
        return outcomes + one_shot.do_once(section.settings, tuner.host)


class TuneStatus(NamedTuple):
    """The settings changed now, if any, and those that a section would change."""

    tuned: Tuned | None
    foreseen: list[TuneOutcome]


def tune_status(section: TuneSection) -> TuneStatus:
    """Return the changed settings, and what the section would change, without one-time actions."""
    tuner = this_machine()
    return TuneStatus(tuner.record.read(tuner.host.boot), tuner.foreseen(section.settings))


def restore_machine(*, left: bool) -> list[TuneOutcome]:
    """Restore the original settings; with ``left`` only those that a night has set."""
    tuner = this_machine()
    with machine_lease().held():
        return restore_night(tuner) if left else tuner.restore()
