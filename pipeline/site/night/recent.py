"""The shown part of a long line: the newest revisions, the first, and those around changes.

A page with thousands of revisions would have hundreds of megabytes; the site has them all.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from pipeline.measure.plan import Line, Plan
from pipeline.model import Regression, Shift
from pipeline.regressions.detected import Detected

SHOWN = 100
"""Number of shown newest revisions of a line; older ones are omitted."""


Positions = Mapping[str, Sequence[int]]
"""The positions that the page shows, by line, in order."""


def recent(plan: Plan, detected: Detected, shown: int = SHOWN) -> tuple[Plan, Positions]:
    """Return a plan without the revisions that are left out, and the positions that are shown."""
    kept = {line.name: _kept(line, detected.regressions, shown) for line in plan.lines}
    lines = tuple(
        line.only({line.revisions[position].label for position in kept[line.name]})
        for line in plan.lines
    )
    return plan.model_copy(update={"lines": lines}), kept


def moved(detected: Detected, kept: Positions) -> Detected:
    """Return a detection with the positions that its revisions have among those shown."""
    regressions = tuple(_moved(each, kept.get(each.line)) for each in detected.regressions)
    return detected.model_copy(update={"regressions": regressions})


def _kept(line: Line, regressions: Sequence[Regression], shown: int) -> list[int]:
    """Return the shown positions, in order."""
    count = len(line.revisions)
    if count <= shown:
        return list(range(count))
    around = {
        position
        for regression in regressions
        if regression.line == line.name
        for shift in regression.shifts
        for place in (shift.earliest, shift.position, shift.latest + 1)
        for position in (place - 1, place)
    }
    newest = range(count - shown + 1, count)
    return sorted({0, *newest, *(each for each in around if 0 <= each < count)})


def _moved(regression: Regression, kept: Sequence[int] | None) -> Regression:
    """Return a regression with positions on the shortened line."""
    if kept is None:
        return regression
    return regression.model_copy(
        update={
            "position": bisect_left(kept, regression.position),
            "shifts": tuple(_shift(each, kept) for each in regression.shifts),
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
