"""What of a long line the page shows: the newest revisions, the first, and where it changed.

A page that held all of a line of thousands would be hundreds of megabytes; the site has them all.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from pipeline.analyse.detected import Detected
from pipeline.execute.plan import Line, Plan
from pipeline.model import Regression, Shift

SHOWN = 100
"""Revisions of a line from which on older ones are left out."""


def recent(
    plan: Plan, detected: Detected, shown: int = SHOWN
) -> tuple[Plan, Detected, Mapping[str, int]]:
    """Return both without the revisions that are left out, and how many those are, by line.

    What was found keeps its revisions; its positions become those on the shortened lines.
    """
    kept = {line.name: _kept(line, detected.regressions, shown) for line in plan.lines}
    lines = tuple(_shortened(line, kept[line.name]) for line in plan.lines)
    regressions = tuple(_moved(each, kept.get(each.line)) for each in detected.regressions)
    left_out = {line.name: len(line.revisions) - len(kept[line.name]) for line in plan.lines}
    return (
        plan.model_copy(update={"lines": lines}),
        detected.model_copy(update={"regressions": regressions}),
        left_out,
    )


def _kept(line: Line, regressions: Sequence[Regression], shown: int) -> list[int]:
    """Return the positions that are shown, in order."""
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


def _shortened(line: Line, kept: Sequence[int]) -> Line:
    if len(kept) == len(line.revisions):
        return line
    revisions = tuple(line.revisions[position] for position in kept)
    labels = {revision.label for revision in revisions}
    return line.model_copy(
        update={
            "revisions": revisions,
            "cells": tuple(cell for cell in line.cells if cell.revision.label in labels),
            "kept": line.kept & labels,
        }
    )


def _moved(regression: Regression, kept: Sequence[int] | None) -> Regression:
    """Return a regression with the places that its revisions have among those shown."""
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
