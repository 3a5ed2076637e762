"""Change point detection for performance series: short, noisy, replicated, robust.

The one entry is :func:`detect`; what it returns is immutable and survives a JSON round trip.
The package knows nothing of the pipeline that uses it. The method is written up, with its
calibration and its measured error rates, in ``docs/statistics.md``.
"""

from changepoint.api import detect, methods
from changepoint.model import ChangePoint, Detection, Direction, Level, Noise, Position, Segment

__all__ = [
    "ChangePoint",
    "Detection",
    "Direction",
    "Level",
    "Noise",
    "Position",
    "Segment",
    "detect",
    "methods",
]
