"""Sync: what a receiver does not have yet is sent, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pipeline.publish.position import Position, Told
from pipeline.publish.remote import Written
from pipeline.publish.samples import Group, Labels, Sample, TimeSeries

SAMPLES_AT_ONCE = 100_000
"""Samples that are held, sent and then noted together: a few tens of megabytes, a second or two of
a receiver's time to do over when it was cut off."""


Write = Callable[[Iterable[TimeSeries]], Written]
"""Sends series and returns when the receiver has them. What it raises ends the sync; what was noted
until then stays noted."""


@dataclass
class Synced:
    """What a sync did: groups and samples that were sent, corrections among the groups.

    ``refused`` are samples that the receiver did not take, for its ``reasons``. With ``complete``
    the receiver has everything.
    """

    groups: int = 0
    corrections: int = 0
    samples: int = 0
    refused: int = 0
    reasons: list[str] = field(default_factory=list)
    complete: bool = False


def sync(
    groups: Iterable[Group],
    position: Position,
    write: Write,
    synced: Synced,
    progress: Callable[[], None] = lambda: None,
    at_once: int = SAMPLES_AT_ONCE,
) -> None:
    """Send the groups that the receiver does not have as they are; ``synced`` tells how far it is.

    A group that says something else than before is sent again, a millisecond later for each time:
    of two values at the same time Prometheus keeps the first and says nothing. ``progress`` is
    called once a group. Raises what ``write`` raises.
    """
    batch = _Batch()
    known = position.known()
    for group in groups:
        progress()
        told = known.get(group.key)
        if told is not None and told.digest == group.digest:
            continue
        batch.add(group, Told(group.digest, 0 if told is None else told.correction + 1))
        if batch.samples >= at_once:
            _send(batch, position, write, synced)
            batch = _Batch()
    if batch.told:
        _send(batch, position, write, synced)
    synced.complete = True


class _Batch:
    """Groups that are sent together, their samples merged into as few series as there are."""

    def __init__(self) -> None:
        self.told: dict[str, Told] = {}
        self.samples = 0
        self._series: dict[Labels, list[Sample]] = {}

    def add(self, group: Group, told: Told) -> None:
        self.told[group.key] = told
        for labels, samples in group.series():
            merged = self._series.setdefault(labels, [])
            merged += [Sample(at + told.correction, value) for at, value in samples]
            self.samples += len(samples)

    def series(self) -> list[TimeSeries]:
        return [TimeSeries(labels, sorted(samples)) for labels, samples in self._series.items()]


def _send(batch: _Batch, position: Position, write: Write, synced: Synced) -> None:
    written = write(batch.series())
    position.note(batch.told, written.refused)
    synced.groups += len(batch.told)
    synced.corrections += sum(told.correction > 0 for told in batch.told.values())
    synced.samples += written.sent
    synced.refused += written.refused
    synced.reasons += [each for each in written.reasons if each not in synced.reasons]
