"""From shifts to regressions: one for one cause."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pipeline.errors import UserError
from pipeline.model import (
    Regression,
    RegressionKind,
    RegressionState,
    Shift,
    digest,
)


def group_shifts(shifts: Sequence[Shift]) -> list[Regression]:
    """Put the shifts that can have one cause together, worst first.

    One cause: the same line, the same kind and way (worse or better), and a position that lies in
    the intervals of all of them. The shift whose position is surest gives that of its group; one
    that could be part of several groups is of the nearest.
    """
    groups: list[list[Shift]] = []
    for shift in sorted(shifts, key=sureness):
        fitting = [group for group in groups if _same_cause(group, shift)]
        if fitting:
            min(fitting, key=lambda group: abs(group[0].position - shift.position)).append(shift)
        else:
            groups.append([shift])
    return sorted((_regression(group) for group in groups), key=_badness)


def sureness(shift: Shift) -> tuple[int, float, float, str, str]:
    """Return a sort key: first the change whose position is known best, then the least likely."""
    key = shift.series
    return (shift.latest - shift.earliest, shift.pvalue, -size(shift), key.step, key.metric)


FROM_ZERO = 1.0
"""What a change from a level of zero, which is infinite, counts as beside relative ones: as if all
had been lost, so that it hides no change of throughput that is as large."""


def size(shift: Shift) -> float:
    """Return how large a change is relative to the level before, without its sign."""
    return abs(shift.effect) if math.isfinite(shift.effect) else FROM_ZERO


def worst(regression: Regression) -> Shift:
    """Return the largest change of a regression."""
    return max(regression.shifts, key=size)


def clearest(regression: Regression, count: int) -> list[Shift]:
    """Return the shifts to look for when a regression is measured again, the largest first.

    They are of one cell, that of the largest change: what has one cause is clearest there. Of its
    figures it is the ``count`` that changed most, as they share the error. Raises UserError where
    every level that changed is zero on one side.
    """
    shifts = [
        shift
        for shift in regression.shifts
        if shift.kind is not RegressionKind.LEVEL or (shift.before > 0 and shift.after > 0)
    ]
    if not shifts:
        raise UserError(
            f"{regression.fingerprint}: every level that changed is zero on one side, and of zero "
            "there is no ratio to confirm"
        )
    place = cell_of(max(shifts, key=size))
    beside = [shift for shift in shifts if cell_of(shift) == place]
    return sorted(beside, key=size, reverse=True)[:count]


def machine_of(regression: Regression) -> str:
    """Return the machine class on which it is measured again: where it is clearest."""
    try:
        return clearest(regression, 1)[0].series.machine_class
    except UserError:
        return worst(regression).series.machine_class


def cell_of(shift: Shift) -> tuple[str, str, str, str]:
    """Return what tells the cell of a shift from others of its revision."""
    key = shift.series
    return key.workload_hash, key.config, key.build_options, key.machine_class


def _badness(regression: Regression) -> tuple[bool, float, int]:
    return (not regression.worse, -size(worst(regression)), regression.position)


def _same_cause(group: Sequence[Shift], other: Shift) -> bool:
    surest = group[0]
    return (
        surest.series.line == other.series.line
        and surest.kind is other.kind
        and surest.worse == other.worse
        # What changed twice had two causes.
        and all(shift.series != other.series for shift in group)
        and other.earliest <= min(shift.latest for shift in group)
        and max(shift.earliest for shift in group) <= other.latest
    )


def _regression(group: Sequence[Shift]) -> Regression:
    surest = group[0]
    key = surest.series
    return Regression(
        fingerprint=_fingerprint(surest),
        line=key.line,
        target=key.target,
        last_good=surest.last_good,
        first_bad=surest.first_bad,
        position=surest.position,
        worse=surest.worse,
        kind=surest.kind,
        state=RegressionState.SUSPECTED,
        shifts=tuple(sorted(group, key=lambda s: (-size(s), s.series.step))),
    )


def _fingerprint(shift: Shift) -> str:
    """Return the identity of a regression that this is the surest shift of."""
    key = shift.series
    return digest([key.target, key.line, shift.first_bad, shift.worse, shift.kind.value])[:12]
