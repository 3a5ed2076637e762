"""What the statements of a step wait for, on both sides of a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from pipeline.explain.figures import ACTIVITY
from pipeline.model import Frozen

WAITS = f"{ACTIVITY}wait:"
"""Prefix of the figures that count sessions waiting for an event, as means over the step."""

LEAST_WAITING = 0.05
"""Growth of the waiting sessions below which they are not the reason: with one client, a twentieth
of the time."""


class WaitChange(Frozen):
    """The sessions that wait for an event, as means over the runs before and after a change."""

    event: str
    before: float
    after: float

    @property
    def growth(self) -> float:
        """How many more sessions wait after the change."""
        return self.after - self.before

    def sentence(self) -> str:
        """Describe the change as evidence."""
        return f"sessions waiting for {self.event}: {self.before:.2f} -> {self.after:.2f}"


def wait_changes(
    before: Mapping[str, Sequence[float]], after: Mapping[str, Sequence[float]]
) -> tuple[WaitChange, ...]:
    """Return the events for which more sessions wait after a change, the largest growth first.

    The arguments are the values of each figure in the runs of both sides. An event counts if every
    run after the change has more waiting sessions than every run before it. The order of events
    with equal growth is by name.
    """
    runs = max(map(len, before.values()), default=0), max(map(len, after.values()), default=0)
    if 0 in runs:
        return ()
    found = []
    for name in sorted({*before, *after}):
        if name.startswith(WAITS):
            # A run in which no session waited for an event does not have its figure.
            old, new = (
                [*values.get(name, ()), *[0.0] * (count - len(values.get(name, ())))]
                for values, count in zip((before, after), runs, strict=True)
            )
            change = WaitChange(event=name.removeprefix(WAITS), before=fmean(old), after=fmean(new))
            if min(new) > max(old) and change.growth >= LEAST_WAITING:
                found.append(change)
    return tuple(sorted(found, key=lambda change: -change.growth))
