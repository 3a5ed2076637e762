"""The seed for shuffling one series."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from changepoint.series import Floats


def own_seed(seed: int, values: Floats) -> int:
    """The caller's seed, mixed with a checksum of the order of the values along the first axis.

    With the same shuffles for all series of a length, the few shuffles that decide a small p-value
    would be off in the same direction everywhere, and false alarms would cluster. Only the order is
    used: it does not depend on the unit, whereas last digits depend on the machine.
    """
    order = np.argsort(values, axis=0, kind="stable").astype("<i8")
    return seed ^ crc32(order.tobytes())
