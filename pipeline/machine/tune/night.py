"""A machine that is tuned for a night, and as it was after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pipeline.errors import UserError
from pipeline.machine.tune.once import do_once
from pipeline.machine.tune.settings import Settings
from pipeline.machine.tune.telling import failures
from pipeline.machine.tune.tuner import Outcome, Tuner


@contextmanager
def tuned(tuner: Tuner, settings: Settings | None, told: Callable[[str], None]) -> Iterator[None]:
    """Tune the machine while this is entered; without settings leave it as it is.

    What a killed night left is given back in either case: with settings when this one ends. What
    was set by hand stays. One night at a time: the lease of the machine has to be held. What
    could not be done is told and ends no night.
    """
    if settings is None:
        _restored(tuner, told)
        yield
        return
    try:
        _tell(tuner.set(settings, by_hand=False), told)
        _tell(do_once(settings, tuner.host), told)
        yield
    finally:
        _restored(tuner, told)


def give_back(tuner: Tuner) -> list[Outcome]:
    """Restore what a night has set, and nothing that was set by hand. Raises UserError."""
    kept = tuner.record.read(tuner.host.boot)
    return [] if kept is None or kept.by_hand else tuner.restore()


def _restored(tuner: Tuner, told: Callable[[str], None]) -> None:
    try:
        _tell(give_back(tuner), told)
    except UserError as error:
        told(str(error))


def _tell(outcomes: Sequence[Outcome], told: Callable[[str], None]) -> None:
    for line in failures(outcomes):
        told(line)
