"""Find changes in series of noisy measurements, short or long, with or without repeated values.

Detection: :func:`detect` searches one series, :class:`Stream` a growing one, and
:func:`detect_many` many series. :func:`pooled` finds changes shared by series that were measured in
the same runs. :func:`exact_changes` searches a series without noise, such as counts. :func:`creep`
tests whether a series has slowly become worse without a visible step. :func:`shared_noise`
estimates the noise of short series, and :func:`learned_autocorrelation` how much successive
measurements of a machine correlate.

Other questions: :class:`Bisection` finds the culprit between a good and a bad revision.
:func:`compare`, :class:`Sequential` and :class:`GroupSequential` compare the levels of two samples,
:class:`SpreadSequential` their noise, and :class:`ShareSequential` how often they reach a
threshold. :func:`budget` converts an accepted number of wrong issues per month into an alarm rate.

Results are immutable and survive a JSON round trip. The package is independent of the pipeline.
Three pages describe the methods, with their calibration and measured error rates:
``docs/internals/statistics.md``, ``docs/guide/comparing.md`` and ``docs/guide/bisection.md``.
"""

from changepoint.api import detect, methods
from changepoint.bisection.search import Bisection, CulpritRange
from changepoint.budget import budget
from changepoint.comparison.group_sequential import GroupSequential
from changepoint.comparison.sequential import Sequential, SequentialDecision
from changepoint.comparison.share_sequential import ShareSequential
from changepoint.comparison.spread_sequential import SpreadSequential
from changepoint.comparison.two_samples import Comparison, SampleLevel, compare
from changepoint.comparison.verdict import Better, Verdict
from changepoint.detection.autocorrelation import learned_autocorrelation
from changepoint.detection.creep import Creep, CreepTest, PositionShare, creep
from changepoint.detection.exact import exact_changes, exact_effect, is_exact_change
from changepoint.detection.ladder import LONGEST as LONGEST_LADDER
from changepoint.detection.ladder import shared_noise
from changepoint.detection.method import SharedNoise
from changepoint.detection.pooled import pooled
from changepoint.detection.pooled_model import Pooled, PooledMember, SharedChange
from changepoint.many import detect_many
from changepoint.model import (
    ChangePoint,
    Detection,
    Direction,
    Noise,
    Position,
    Segment,
    SegmentLevel,
)
from changepoint.stream import Stream

__all__ = [
    "LONGEST_LADDER",
    "Better",
    "Bisection",
    "ChangePoint",
    "Comparison",
    "Creep",
    "CreepTest",
    "CulpritRange",
    "Detection",
    "Direction",
    "GroupSequential",
    "Noise",
    "Pooled",
    "PooledMember",
    "Position",
    "PositionShare",
    "SampleLevel",
    "Segment",
    "SegmentLevel",
    "Sequential",
    "SequentialDecision",
    "ShareSequential",
    "SharedChange",
    "SharedNoise",
    "SpreadSequential",
    "Stream",
    "Verdict",
    "budget",
    "compare",
    "creep",
    "detect",
    "detect_many",
    "exact_changes",
    "exact_effect",
    "is_exact_change",
    "learned_autocorrelation",
    "methods",
    "pooled",
    "shared_noise",
]
