"""Random shuffles of a series, and the seed that makes them repeatable."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from changepoint.jit import compiled
from changepoint.series import Floats


def own_seed(seed: int, values: Floats) -> int:
    """Return a seed made from the caller's seed and the values themselves.

    With the same shuffles for all series of a length, the few shuffles that decide a small p-value
    would be off in the same direction everywhere, and false alarms would cluster. The seed depends
    only on the order of the values. The order is the same in every unit and on every machine,
    whereas the last digits of values are not.
    """
    order = np.argsort(values, axis=0, kind="stable").astype("<i8")
    return seed ^ crc32(order.tobytes())


@compiled
def shuffle(values: NDArray[Any], state: np.uint64) -> np.uint64:
    """Shuffle values in place, and return the next state of the random numbers.

    Values are (n,).

    splitmix64 (Steele, Lea, Flood 2014): the same numbers in every numba and numpy.
    """
    for i in range(len(values) - 1, 0, -1):
        state += np.uint64(0x9E3779B97F4A7C15)
        z = state
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        j = int(float(z >> np.uint64(11)) / 9007199254740992.0 * (i + 1))
        kept = values[i]
        values[i] = values[j]
        values[j] = kept
    return state
