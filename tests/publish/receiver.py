"""A receiver in memory that keeps what Prometheus would: the first value at each timestamp."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.publish.remote import Written
from pipeline.publish.samples import Labels, TimeSeries


class CutOffError(Exception):
    """The connection ended in the middle of a write."""


class Receiver:
    """Keeps samples by their series; ``cut`` is the number after which it is gone."""

    def __init__(self) -> None:
        self.kept: dict[Labels, dict[int, float]] = {}
        self.received = 0
        self.dropped = 0
        self.cut: int | None = None

    def write(self, series: Iterable[TimeSeries]) -> Written:
        sent = 0
        for labels, samples in series:
            assert list(samples) == sorted(samples)
            for at, value in samples:
                if self.cut is not None and self.received >= self.cut:
                    raise CutOffError
                self.received += 1
                values = self.kept.setdefault(labels, {})
                self.dropped += at in values and values[at] != value
                values.setdefault(at, value)
                sent += 1
        return Written(sent)

    def named(self, name: str) -> dict[Labels, dict[int, float]]:
        """The series of a name."""
        return {
            labels: values
            for labels, values in self.kept.items()
            if dict(labels)["__name__"] == name
        }

    def last(self) -> dict[Labels, float]:
        """What `last_over_time` says of every series."""
        return {labels: values[max(values)] for labels, values in self.kept.items()}
