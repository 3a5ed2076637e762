"""Change point detection for performance series: short, noisy, replicated, robust.

:func:`detect` searches a series, :class:`Stream` one that grows, :func:`detect_many` many of
them and :func:`pooled` series that were measured together; :class:`Bisection` finds the
culprit between a good and a bad revision; :func:`compare`, :class:`Sequential` and
:class:`GroupSequential` compare two samples, :class:`SpreadSequential` their noise and
:class:`ShareSequential` how often they reach a threshold; :func:`budget` turns wrong issues a month
into a threshold. What they return is immutable and survives a JSON round trip.
The package knows nothing of the pipeline that uses it. The methods are written up, with their
calibration and measured error rates, in ``docs/statistics.md``, ``docs/comparing.md`` and
``docs/bisection.md``.
"""

from changepoint.api import detect, methods
from changepoint.bisection import Bisection, Culprit
from changepoint.budget import budget
from changepoint.compare import Comparison, Sample, compare
from changepoint.group_sequential import GroupSequential
from changepoint.many import detect_many
from changepoint.model import ChangePoint, Detection, Direction, Level, Noise, Position, Segment
from changepoint.pooled import pooled
from changepoint.pooled_model import Member, Pooled, SharedChange
from changepoint.sequential import Decision, Sequential
from changepoint.share_sequential import ShareSequential
from changepoint.spread_sequential import SpreadSequential
from changepoint.stream import Stream
from changepoint.verdict import Better, Verdict

__all__ = [
    "Better",
    "Bisection",
    "ChangePoint",
    "Comparison",
    "Culprit",
    "Decision",
    "Detection",
    "Direction",
    "GroupSequential",
    "Level",
    "Member",
    "Noise",
    "Pooled",
    "Position",
    "Sample",
    "Segment",
    "Sequential",
    "ShareSequential",
    "SharedChange",
    "SpreadSequential",
    "Stream",
    "Verdict",
    "budget",
    "compare",
    "detect",
    "detect_many",
    "methods",
    "pooled",
]
