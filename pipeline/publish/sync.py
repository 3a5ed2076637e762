"""Send a receiver exactly those groups of samples that it does not have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pipeline.publish.checkpoint import GroupCheckpoint, Position
from pipeline.publish.remote import Written
from pipeline.publish.samples import Labels, SampleGroup, TimedValue, TimeSeries

SAMPLES_AT_ONCE = 100_000
"""Number of samples that are buffered, sent and recorded together. They take some tens of
megabytes. After an interruption, sending them again costs the receiver a second or two."""


Write = Callable[[Iterable[TimeSeries]], Written]
"""Sends series and returns once the receiver has them. An exception ends the sync; recorded groups
stay recorded."""


@dataclass
class Synced:
    """What was sent to a receiver: groups, samples and corrections.

    ``refused`` are samples that the receiver did not accept, for its ``reasons``. With
    ``complete``, the receiver has everything.
    """

    groups: int = 0
    corrections: int = 0
    samples: int = 0
    refused: int = 0
    reasons: list[str] = field(default_factory=list)
    complete: bool = False


def sync(
    groups: Iterable[SampleGroup],
    position: Position,
    write: Write,
    synced: Synced,
    progress: Callable[[], None] = lambda: None,
    at_once: int = SAMPLES_AT_ONCE,
) -> None:
    """Send the groups of samples that a receiver lacks; ``synced`` counts them.

    A group with changed contents is sent again, a millisecond later for each correction: of two
    values at the same time Prometheus silently keeps the first. ``progress`` is called once per
    group. Raises what ``write`` raises.
    """
    batch = _Batch()
    known = position.known()
    for group in groups:
        progress()
        checkpoint = known.get(group.key)
        if checkpoint is not None and checkpoint.digest == group.digest:
            continue
        batch.add(
            group,
            GroupCheckpoint(group.digest, 0 if checkpoint is None else checkpoint.correction + 1),
        )
        if batch.samples >= at_once:
            _send(batch, position, write, synced)
            batch = _Batch()
    if batch.sent:
        _send(batch, position, write, synced)
    synced.complete = True


class _Batch:
    """Groups of samples that are sent in one request, merged by series."""

    def __init__(self) -> None:
        self.sent: dict[str, GroupCheckpoint] = {}
        self.samples = 0
        self._series: dict[Labels, list[TimedValue]] = {}

    def add(self, group: SampleGroup, checkpoint: GroupCheckpoint) -> None:
        self.sent[group.key] = checkpoint
        for labels, samples in group.series():
            merged = self._series.setdefault(labels, [])
            merged += [TimedValue(at + checkpoint.correction, value) for at, value in samples]
            self.samples += len(samples)

    def series(self) -> list[TimeSeries]:
        return [TimeSeries(labels, sorted(samples)) for labels, samples in self._series.items()]


def _send(batch: _Batch, position: Position, write: Write, synced: Synced) -> None:
    written = write(batch.series())
    position.note(batch.sent, written.refused)
    synced.groups += len(batch.sent)
    synced.corrections += sum(checkpoint.correction > 0 for checkpoint in batch.sent.values())
    synced.samples += written.sent
    synced.refused += written.refused
    synced.reasons += [each for each in written.reasons if each not in synced.reasons]
