"""Which revisions of a long line the report shows: the newest, the first, those around changes.

A page with thousands of revisions would have hundreds of megabytes; the site has them all.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from pipeline.measure.plan import Line, Plan
from pipeline.model import Regression, Shift
from pipeline.regressions.detected import Detected

SHOWN = 100
"""A line with at most this many revisions is shown whole."""

NEWEST = 25
"""Number of newest revisions shown of a longer line, and maximum number of revisions shown around
its changes."""


Positions = Mapping[str, Sequence[int]]
"""The positions that the page shows, by line, in order."""


def recent(
    plan: Plan, detected: Detected, shown: int = SHOWN, newest: int = NEWEST
) -> tuple[Plan, Positions]:
    """Return a plan with only the revisions that the report shows."""
    kept = {
        line.name: list(range(len(line.revisions)))
        if len(line.revisions) <= shown
        else _kept(line, detected.regressions, newest)
        for line in plan.lines
    }
    lines = tuple(
        line.only({line.revisions[position].label for position in kept[line.name]})
        for line in plan.lines
    )
    return plan.model_copy(update={"lines": lines}), kept


def moved(detected: Detected, kept: Positions) -> Detected:
    """Return the changes that the report shows, with positions among the shown revisions."""
    regressions = tuple(
        moved
        for each in detected.regressions
        if (moved := _moved(each, kept.get(each.line))) is not None
    )
    return detected.model_copy(update={"regressions": regressions})


def _kept(line: Line, regressions: Sequence[Regression], newest: int) -> list[int]:
    """Return the positions of a long line that the report shows, in order."""
    count = len(line.revisions)
    own = [each for each in regressions if each.line == line.name]
    around: set[int] = set()
    for regression in sorted(own, key=lambda each: each.position, reverse=True):
        places = {
            position
            for shift in regression.shifts
            for place in (shift.earliest, shift.position, shift.latest + 1)
            for position in (place - 1, place)
            if 0 <= position < count
        }
        if around and len(around | places) > newest:
            break
        around |= places
    return sorted({0, *range(count - newest, count), *around})


def _moved(regression: Regression, kept: Sequence[int] | None) -> Regression | None:
    """Return a regression with positions on the shortened line; None if it is not shown."""
    if kept is None:
        return regression
    seen = set(kept)
    shifts = [each for each in regression.shifts if each.position in seen]
    if not shifts:
        return None
    return regression.model_copy(
        update={
            "position": bisect_left(kept, regression.position),
            "shifts": tuple(_shift(each, kept) for each in shifts),
        }
    )


def _shift(shift: Shift, kept: Sequence[int]) -> Shift:
    return shift.model_copy(
        update={
            "position": bisect_left(kept, shift.position),
            "earliest": bisect_left(kept, shift.earliest),
            "latest": bisect_right(kept, shift.latest) - 1,
        }
    )
