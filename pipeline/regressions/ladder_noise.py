"""The noise of series too short to show their own, learned from other steps of the same runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from changepoint import LONGEST_LADDER, SharedNoise, shared_noise
from changepoint.detection.between_positions import is_replicated
from pipeline.model import SeriesKey
from pipeline.regressions.pooled_detection import Setup, setup_of
from pipeline.storage.series import Floats, Series


def ladder_noise(series: Sequence[Series]) -> Mapping[SeriesKey, SharedNoise]:
    """Return the noise of each short series, from the other series of its setup and metric.

    Series with replicates and long series take no part, because their own values show their noise.
    """
    tables: dict[tuple[Setup, str], list[tuple[SeriesKey, Floats]]] = {}
    for one in series:
        if not 0 < len(one.measured) <= LONGEST_LADDER:
            continue
        _, starts, counts = np.unique(one.positions, return_index=True, return_counts=True)
        if not is_replicated(counts):
            means = np.add.reduceat(one.values, starts) / counts
            table = tables.setdefault((setup_of(one.key), one.key.metric), [])
            table.append((one.key, means))
    found = {}
    for table in tables.values():
        noises = shared_noise([means for _, means in table])
        for (key, _), noise in zip(table, noises, strict=True):
            if noise is not None:
                found[key] = noise
    return found
