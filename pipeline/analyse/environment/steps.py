"""Steps: nights from which on a machine is another one, found by the detection of changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from changepoint import detect
from pipeline.analyse.environment.fit import Change
from pipeline.analyse.environment.panel import Floats

NEAR = 3
"""Nights by which the place of a step may be missed in one figure: with heavy tails an interval
that should hold it with 95 % ends a night or two beside it. Nobody changes a machine twice in so
short a time and wants to be told twice."""


class _Found(NamedTuple):
    position: int
    earliest: int
    latest: int
    pvalue: float


def steps_of(
    values: Floats, metrics: Sequence[str], alarms_per_1000: float, smallest: float
) -> list[Change]:
    """Return the nights in which the level of a machine changes, in order.

    ``values`` is (figures, nights), without the ramps that are known; ``metrics`` is that of each
    figure. Every figure is searched, and for each metric the mean of its figures:
    what moves all of them a little shows there first. Those whose intervals hold one night, or
    nearly so, are one step, at the night that is known best.
    """
    whole = np.array(metrics)
    rows = list(values)
    for metric in dict.fromkeys(metrics):
        of_metric = values[whole == metric]
        if len(of_metric) > 1:
            rows.append(_mean(of_metric))
    # An event is of a machine: all its figures together have the budget of one series.
    allowed = alarms_per_1000 / len(rows)
    found = [each for row in rows for each in _search(row, allowed, smallest)]
    groups: list[list[_Found]] = []
    for each in sorted(found, key=lambda one: (one.latest - one.earliest, one.pvalue)):
        for group in groups:
            if each.earliest - NEAR <= group[0].position <= each.latest + NEAR:
                group.append(each)
                break
        else:
            groups.append([each])
    surest = sorted(group[0] for group in groups)
    return [Change(one.position, one.position, one.earliest, one.latest) for one in surest]


def _search(row: Floats, alarms_per_1000: float, smallest: float) -> list[_Found]:
    """Search one figure (nights,).

    By nights, not by runs: the runs of a night share its mood, and two alike prove nothing.
    """
    nights = np.flatnonzero(np.isfinite(row))
    if len(nights) < 2:
        return []
    detection = detect(
        # Levels, not logarithms: sizes are relative to the level before.
        np.exp(row[nights] - np.median(row[nights])),
        positions=nights.tolist(),
        alarms_per_1000=alarms_per_1000,
        min_effect=smallest,
    )
    return [
        _Found(
            int(change.position), int(change.interval[0]), int(change.interval[1]), change.pvalue
        )
        for change in detection.changes
        if change.kind == "level"
    ]


def _mean(values: Floats) -> Floats:
    """Return the mean of figures (figures, nights), each from its own level.

    Nights in which a figure is missing have no mean, or that would move by what is missing.
    """
    mean: Floats = (values - np.nanmedian(values, axis=1, keepdims=True)).mean(axis=0)
    return mean
