"""Compare two samples of runs: the effect, its interval and the verdict."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from scipy.special import ndtri, stdtrit

from changepoint.comparison import rank_interval, run_levels
from changepoint.comparison.run_levels import Run, Runs
from changepoint.comparison.verdict import Better, Verdict, check, judge
from changepoint.detection.effect import relative
from changepoint.noise import quantum
from changepoint.series import LARGEST_EXPONENT, RESOLUTION, Floats
from changepoint.to_json import plain

Basis = Literal["ranks", "student", "none"]
"""The basis of an interval: the exact distribution of ranks; Student's t, where there are too few
runs for ranks; or nothing, where neither side has a second run."""


@dataclass(frozen=True, slots=True)
class SampleLevel:
    """The level of one side of a comparison, and how much its runs vary.

    level: median of the levels of the runs. spread: their standard deviation, 0 for a single run.
    within: the part of that spread that comes from noise inside the runs, according to their
    samples; 0 without samples. Longer runs reduce this part, whereas only more runs reduce the rest
    of the spread. runs: number of runs.
    """

    level: float
    spread: float
    within: float
    runs: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of :func:`compare`: both levels, the effect with its interval, the verdict.

    Attributes:
        base, head: the two samples.
        effect: relative change from base to head; its sign is the direction of the level. Infinite
            if the level of base is zero and that of head is not.
        effect_interval: confidence interval of ``effect``; bounds may be infinite.
        confidence: the confidence that the interval has at least.
        smallest_effect, better: the arguments of the comparison that the verdict depends on.
        verdict: see :func:`changepoint.comparison.verdict.judge`.
        basis: the basis of the interval.
    """

    base: SampleLevel
    head: SampleLevel
    effect: float
    effect_interval: tuple[float, float]
    confidence: float
    smallest_effect: float
    better: Better
    verdict: Verdict
    basis: Basis

    @property
    def ratio(self) -> float:
        """The level of head divided by that of base."""
        return 1.0 + self.effect

    @property
    def ratio_interval(self) -> tuple[float, float]:
        """The confidence interval of the ratio of head to base."""
        low, high = self.effect_interval
        return 1.0 + low, 1.0 + high

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain dicts, lists, strings and finite numbers."""
        tree: dict[str, Any] = plain(asdict(self))
        return tree

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Self:
        """Read a result back from :meth:`to_dict`. Raises ValueError if it is invalid."""
        try:
            low, high = tree["effect_interval"]
            read = cls(
                base=_sample(tree["base"]),
                head=_sample(tree["head"]),
                effect=float(tree["effect"]),
                effect_interval=(float(low), float(high)),
                confidence=float(tree["confidence"]),
                smallest_effect=float(tree["smallest_effect"]),
                better=tree["better"],
                verdict=tree["verdict"],
                basis=tree["basis"],
            )
            check(read.smallest_effect, read.better, read.confidence)
            if read.verdict not in get_args(Verdict) or read.basis not in get_args(Basis):
                raise ValueError(f"unknown verdict {read.verdict!r} or basis {read.basis!r}")
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the saved comparison is invalid: {error!r}") from error
        return read

    def to_json(self) -> str:
        """Return the result as standard JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a result back from the text of :meth:`to_json`."""
        return cls.from_dict(json.loads(text))


def compare(
    base: Sequence[Run] | Floats,
    head: Sequence[Run] | Floats,
    *,
    smallest_effect: float,
    better: Better = "higher",
    confidence: float = 0.95,
) -> Comparison:
    """Compare two samples of independent runs.

    Args:
        base: the runs of one side; each is one figure, or the list of its per-second samples.
            None and nan are missing. Interleave the runs of both sides when measuring:
            otherwise a drift of the machine between them appears as a difference.
        head: the runs of the other side.
        smallest_effect: smallest relative change that matters, as a fraction. With 0, the verdict
            is never "same".
        better: whether a higher or a lower level is good.
        confidence: confidence of the two-sided interval.

    Raises:
        ValueError: a side has no measured run, a value is infinite or beyond 1e300, or an option
            is out of range. The message is one sentence.
    """
    check(smallest_effect, better, confidence)
    measured = run_levels.read("base", base), run_levels.read("head", head)
    largest = float(np.max(np.abs(np.concatenate([*measured[0], *measured[1]]))))
    exponent = int(np.frexp(largest)[1])
    before, after = (run_levels.summarise(side, exponent) for side in measured)
    effect, interval, basis = _effect(before, after, confidence)
    return Comparison(
        base=_describe(before, exponent),
        head=_describe(after, exponent),
        effect=effect,
        effect_interval=interval,
        confidence=confidence,
        smallest_effect=smallest_effect,
        better=better,
        verdict=judge(effect, interval, smallest_effect, better),
        basis=basis,
    )


def _effect(base: Runs, head: Runs, confidence: float) -> tuple[float, tuple[float, float], Basis]:
    levels = np.concatenate((base.levels, head.levels))
    edges = np.array([0, len(base.levels), len(levels)], dtype=np.int64)
    step = quantum(levels, edges, RESOLUTION)
    middle = float(np.median(base.levels))
    if np.all(levels > 0.0) or np.all(levels < 0.0):
        # Noise is proportional to the level, as in a rate or a cost per operation.
        sign = math.copysign(1.0, middle)
        unit = step / float(np.min(np.abs(levels)))
        shift, low, high, basis = _shift(_logarithms(base), _logarithms(head), unit, confidence)
        ends = [
            x if math.isinf(x) and x > 0.0 else math.expm1(min(x, LARGEST_EXPONENT))
            for x in (low, shift, high)
        ]
        low, effect, high = ends if sign > 0.0 else [-x for x in reversed(ends)]
        return effect, (low, high), basis
    shift, low, high, basis = _shift(base, head, step, confidence)
    low, effect, high = (relative(middle, middle + x) for x in (low, shift, high))
    return effect, (low, high), basis


def _logarithms(side: Runs) -> Runs:
    magnitudes = np.abs(side.levels)
    with np.errstate(over="ignore"):
        # Relative errors beyond the overflow of exp() are unbounded.
        errors = np.minimum(side.errors / magnitudes, LARGEST_EXPONENT)
    return Runs(np.log(magnitudes), errors)


def _shift(
    base: Runs, head: Runs, step: float, confidence: float
) -> tuple[float, float, float, Basis]:
    """Return the difference from base to head with its interval."""
    n, m = len(base.levels), len(head.levels)
    basis: Basis = "ranks"
    ranked = rank_interval.shift(base.levels, head.levels, confidence)
    if ranked is not None:
        shift, low, high = ranked
    elif n + m > 2:
        basis = "student"
        shift, reach = _student(base.levels, head.levels, confidence)
        low, high = shift - reach, shift + reach
    else:
        return float(head.levels[0] - base.levels[0]), -math.inf, math.inf, "none"
    # Runs that agree by chance do not know their level better than their samples do, and no run
    # knows it better than its unit of measurement.
    variance = sum(float(np.mean(side.errors**2)) / len(side.errors) for side in (base, head))
    floor = max(float(ndtri(0.5 + confidence / 2.0)) * math.sqrt(variance), step)
    return shift, min(low, shift - floor), max(high, shift + floor), basis


def _student(base: Floats, head: Floats, confidence: float) -> tuple[float, float]:
    """Return the difference of two means with half its interval (Student's t).

    Student, Biometrika 6, 1908. Both sides are assumed to have the same variance: two or three runs
    a side cannot show that it differs, and a side with a single run shows none.
    """
    n, m = len(base), len(head)
    squares = n * float(np.var(base)) + m * float(np.var(head))
    deviation = math.sqrt(squares / (n + m - 2) * (1.0 / n + 1.0 / m))
    shift = float(np.mean(head)) - float(np.mean(base))
    return shift, float(stdtrit(n + m - 2, 0.5 + confidence / 2.0)) * deviation


def _describe(side: Runs, exponent: int) -> SampleLevel:
    spread = float(np.std(side.levels, ddof=1)) if len(side.levels) > 1 else 0.0
    within = math.sqrt(float(np.mean(side.errors**2)))
    level = float(np.median(side.levels))
    level, spread, within = (float(np.ldexp(x, exponent)) for x in (level, spread, within))
    return SampleLevel(level, spread, within, len(side.levels))


def _sample(tree: Mapping[str, Any]) -> SampleLevel:
    return SampleLevel(
        float(tree["level"]), float(tree["spread"]), float(tree["within"]), int(tree["runs"])
    )
