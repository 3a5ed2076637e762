"""Counted series: instructions per operation, which have no noise above a small floor.

An exact rule finds their changes. Machines, outages and the false-alarm budget do not concern
counted series, because the same program executes the same instructions on any machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from changepoint import ChangePoint, exact_changes
from pipeline.model import Mode, SeriesKey
from pipeline.model.counts import FLOOR
from pipeline.storage.series import Series


class ByMode(NamedTuple):
    """Series split by how their workload is measured: timed, or counted in instructions."""

    timed: list[Series]
    counted: list[Series]


def is_counted(key: SeriesKey) -> bool:
    """Whether the values of a series are counts of instructions rather than times."""
    return key.mode is Mode.COUNT


def by_mode(series: Sequence[Series]) -> ByMode:
    """Split series into timed and counted ones."""
    return ByMode(
        [one for one in series if not is_counted(one.key)],
        [one for one in series if is_counted(one.key)],
    )


def counted_changes(series: Series, min_effect: float) -> tuple[ChangePoint, ...]:
    """Return the changes of a series of instruction counts."""
    return exact_changes(
        series.values, positions=series.positions, floor=FLOOR, min_effect=min_effect
    )
