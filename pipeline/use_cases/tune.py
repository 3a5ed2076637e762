"""Change kernel settings of this machine on request, restore them, or show what would change."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.config.tune import TuneSection
from pipeline.machine.lease import machine_lease
from pipeline.machine.tune import one_shot
from pipeline.machine.tune.night import restore_night, this_machine
from pipeline.machine.tune.record import Tuned
from pipeline.machine.tune.tuner import TuneOutcome


def foresee_tuning(section: TuneSection) -> list[TuneOutcome]:
    """Return which kernel settings :func:`tune_machine` would change."""
    return this_machine().foreseen(section.settings) + one_shot.foreseen(section.settings)


def tune_machine(section: TuneSection) -> list[TuneOutcome]:
    """Change the kernel settings that ``[tune]`` names, while no process measures."""
    tuner = this_machine()
    with machine_lease().held():
        outcomes = tuner.set(section.settings, by_hand=True)
        return outcomes + one_shot.do_once(section.settings, tuner.host)


class TuneStatus(NamedTuple):
    """Which kernel settings are changed now, and which ``[tune]`` would change."""

    tuned: Tuned | None
    foreseen: list[TuneOutcome]


def tune_status(section: TuneSection) -> TuneStatus:
    """Return which kernel settings are changed now, and which ``[tune]`` would change."""
    tuner = this_machine()
    return TuneStatus(tuner.record.read(tuner.host.boot), tuner.foreseen(section.settings))


def restore_machine(*, left: bool) -> list[TuneOutcome]:
    """Restore the original kernel settings; with ``left`` only those that a night left changed."""
    tuner = this_machine()
    with machine_lease().held():
        return restore_night(tuner) if left else tuner.restore()
