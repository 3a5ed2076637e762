"""Tune a machine for the time of a night, and restore it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pipeline.machine.paths import tune_record
from pipeline.machine.tune.format import failures
from pipeline.machine.tune.host import Host
from pipeline.machine.tune.one_shot import do_once
from pipeline.machine.tune.record import TuneRecord
from pipeline.machine.tune.settings import TuneSettings
from pipeline.machine.tune.tuner import TuneOutcome, Tuner
from pipeline.text.errors import UserError


@contextmanager
def tuned(
    tuner: Tuner, settings: TuneSettings | None, note: Callable[[str], None]
) -> Iterator[None]:
    """Change the kernel settings while the block runs; change nothing without settings.

    Settings that a killed night left changed are restored in either case: with ``settings`` at the
    end of this night, otherwise at once. Settings made by hand stay. The lease of the machine must
    be held, so that only one night tunes at a time. Failures are reported and do not end the night.
    """
    if settings is None:
        _restored(tuner, note)
        yield
        return
    try:
        _note_all(tuner.set(settings, by_hand=False), note)
        _note_all(do_once(settings, tuner.host), note)
        yield
    finally:
        _restored(tuner, note)


def restore_night(tuner: Tuner) -> list[TuneOutcome]:
    """Restore what a night changed, but not what a person set by hand."""
    kept = tuner.record.read(tuner.host.boot)
    return [] if kept is None or kept.by_hand else tuner.restore()


def _restored(tuner: Tuner, note: Callable[[str], None]) -> None:
    try:
        _note_all(restore_night(tuner), note)
    except UserError as error:
        note(str(error))


def _note_all(outcomes: Sequence[TuneOutcome], note: Callable[[str], None]) -> None:
    for line in failures(outcomes):
        note(line)


def this_machine() -> Tuner:
    """Return the tuner of this machine."""
    return Tuner(Host(), TuneRecord(tune_record()))
