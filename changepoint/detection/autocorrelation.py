"""The autocorrelation of a machine, learned from all series that it measured.

One series alone shows the correlation of its neighbouring positions too roughly to judge a change
by it. Many series of one machine and step together show it well enough, and a new series uses the
learned value from the beginning.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from changepoint.detection.scan import MAX_PHI, rough_scale
from changepoint.series import Floats

FEWEST = 20
"""Fewest positions of a series from which the autocorrelation is learned: in a shorter one,
changes of level would be taken for correlated noise."""

ENOUGH = 1000
"""Fewest pairs of neighbouring differences, over all series, from which an autocorrelation is
learned. Its standard error is then .03. With a standard error of .07, too little would be deducted
for a true autocorrelation of .5."""

OUTLYING = 5.0
"""Difference of two neighbours, in robust deviations, above which it counts as a change or a spike
and is left out."""

STEP = 0.05
"""The learned autocorrelation is rounded to a multiple of this: it then stays the same on most
nights, and cached results stay valid."""


def learned_autocorrelation(collection: Sequence[Floats]) -> float | None:
    """Return the correlation of neighbouring positions in a machine's series, from 0 to 0.9.

    Pass it to :func:`detect` as ``autocorrelation``. In an autoregression of order one with the
    coefficient phi, the squared differences at lag two are 1 + phi times those at lag one, whatever
    the levels. Triples of values with an outlying difference are left out, so changes and spikes do
    not count.

    Args:
        collection: for each series one value per position, in order, without gaps.

    Returns:
        The correlation, or None if all series together are too short to show it.
    """
    pairs = ones = twos = 0.0
    for values in collection:
        if len(values) < FEWEST:
            continue
        scale = rough_scale(values)
        near = np.diff(values)
        plain = np.abs(near) <= OUTLYING * scale
        both = plain[1:] & plain[:-1]
        if scale > 0.0:
            pairs += float(np.sum(both))
            ones += float(np.sum(near[1:][both] ** 2 + near[:-1][both] ** 2)) / scale**2
            twos += 2.0 * float(np.sum((values[2:] - values[:-2])[both] ** 2)) / scale**2
    if pairs < ENOUGH or ones == 0.0:
        return None
    return min(max(round((twos / ones - 1.0) / STEP) * STEP, 0.0), MAX_PHI)
