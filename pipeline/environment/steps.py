"""Sudden changes of a machine, found in its controls by change point detection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from changepoint import detect
from pipeline.environment.fit import MachineChange
from pipeline.environment.panel import Floats

NEAR = 3
"""Nights by which the position of a step may be wrong in one figure: with heavy tails, the true
night may lie a night or two outside the 95 % interval. Two changes of a machine within so few
nights are reported as one."""


class _Found(NamedTuple):
    position: int
    earliest: int
    latest: int
    pvalue: float


def steps_of(
    values: Floats, metrics: Sequence[str], alarms_per_1000: float, smallest: float
) -> list[MachineChange]:
    """Return the nights in which a machine suddenly changed, in order.

    ``values`` is (figures, nights), with the known ramps subtracted; ``metrics`` is the metric of
    each figure. The search covers every figure and, for each metric, the mean of its figures, where
    a small change of all figures shows first. Changes with (nearly) overlapping intervals count as
    one step, in the night that the narrowest interval gives.
    """
    whole = np.array(metrics)
    rows = list(values)
    for metric in dict.fromkeys(metrics):
        of_metric = values[whole == metric]
        if len(of_metric) > 1:
            rows.append(_mean(of_metric))
    # An event belongs to a machine: all its figures share the alarm budget of one series.
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
    return [MachineChange(one.position, one.position, one.earliest, one.latest) for one in surest]


def _search(row: Floats, alarms_per_1000: float, smallest: float) -> list[_Found]:
    """Search one control figure for sudden changes.

    The search uses nights, not runs: the runs of a night are correlated.
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
    """Return the mean of all control figures in each night, each relative to its median.

    A night in which a figure is missing has no mean, because the missing figure would shift it.
    """
    mean: Floats = (values - np.nanmedian(values, axis=1, keepdims=True)).mean(axis=0)
    return mean
