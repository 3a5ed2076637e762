"""The noise of a series, learned from other series of the same machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from changepoint import learned_autocorrelation
from pipeline.model import SeriesKey
from pipeline.regressions.ladder_noise import ladder_noise
from pipeline.regressions.shifts import KnownNoise
from pipeline.storage.series import Floats, Series


def known_noise(series: Sequence[Series]) -> Mapping[SeriesKey, KnownNoise]:
    """Return the noise and the autocorrelation of each series, learned from other series.

    The autocorrelation is learned from all series of the machine class, step and metric. If these
    have too few nights, it is learned from all series of the machine class and metric, so that new
    series have a value from the beginning.
    """
    shared = ladder_noise(series)
    values = {one.key: _position_means(one) for one in series}
    steps: dict[tuple[str, ...], list[Floats]] = {}
    for key, means in values.items():
        for group in _groups(key):
            steps.setdefault(group, []).append(means)

    @cache
    def learned(group: tuple[str, ...]) -> float | None:
        return learned_autocorrelation(steps[group])

    known = {}
    for key in values:
        step, machine = _groups(key)
        own = learned(step)
        known[key] = KnownNoise(shared.get(key), learned(machine) if own is None else own)
    return known


def _groups(key: SeriesKey) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return two group keys of a series: machine, step and metric; machine and metric."""
    machine = (key.machine_class, key.metric)
    return (*machine, key.workload, key.step, key.group), machine


def _position_means(series: Series) -> Floats:
    if not len(series.values):
        return np.empty(0)
    starts = np.flatnonzero(np.diff(series.positions, prepend=-1))
    counts = np.diff(starts, append=len(series.values))
    return np.asarray(np.add.reduceat(series.values, starts) / counts, dtype=np.float64)
