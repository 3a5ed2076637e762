"""Decide from an effect and its interval: better, worse, equal or unclear."""

from __future__ import annotations

import math
from typing import Literal, get_args

Verdict = Literal["better", "worse", "same", "undecided"]

Better = Literal["higher", "lower"]
"""The good direction of the level: higher for a throughput, lower for a cost or a latency."""


def judge(
    effect: float, interval: tuple[float, float], smallest_effect: float, better: Better
) -> Verdict:
    """Return the verdict on a relative effect with its confidence interval.

    same: the whole interval is nearer to zero than ``smallest_effect``. better, worse: the interval
    excludes zero, and the effect itself is at least ``smallest_effect``: there is certainly a
    change, and more likely than not it matters. undecided: anything else.
    """
    low, high = interval
    if max(abs(low), abs(high)) < smallest_effect:
        return "same"
    if (low > 0.0 or high < 0.0) and abs(effect) >= smallest_effect:
        return "better" if (effect > 0.0) == (better == "higher") else "worse"
    return "undecided"


def check(smallest_effect: float, better: str, confidence: float) -> None:
    """Raise ValueError for settings of a comparison that are out of range.

    Raises:
        ValueError: the smallest effect is negative or not finite, the direction is not one of
            ``Better``, or the confidence is not in [0.5, 1). The message is one sentence.
    """
    if not (smallest_effect >= 0.0 and math.isfinite(smallest_effect)):
        raise ValueError(f"smallest_effect must be a fraction of at least 0, not {smallest_effect}")
    if better not in get_args(Better):
        raise ValueError(f"better must be higher or lower, not {better!r}")
    if not 0.5 <= confidence < 1.0:
        raise ValueError(f"confidence must be at least 0.5 and below 1, not {confidence}")
