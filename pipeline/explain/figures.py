"""Compare one figure of a step before and after a change: did it move beyond its noise?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pipeline.model import Frozen
from pipeline.model.metrics import LEAST_CHANGE, METRICS, Direction
from pipeline.text.units import show_figure

ACTIVITY = "dbms "
"""Prefix of the metrics of the DBMS's own activity, which are means over the step."""

HEAVY_TAILED = frozenset({"latency_max"})
"""Metrics of a single extreme event, which say nothing about a whole step."""


class FigureChange(Frozen):
    """A figure on both sides of a change: the two medians, their ratio, its interval.

    ``verdict`` is from changepoint: better, worse, same, undecided. The DBMS's own activity has no
    good direction, so there *worse* only means more.
    """

    metric: str
    unit: str
    before: float
    after: float
    ratio: float
    low: float
    high: float
    runs: tuple[int, int]
    verdict: str

    @property
    def moved(self) -> bool:
        """Whether the figure differs by more than its noise between repetitions."""
        return self.verdict in {"better", "worse"}

    @property
    def growth(self) -> float:
        """The logarithm of the ratio, so that doubling and halving have equal sizes."""
        return math.log(self.ratio) if self.ratio > 0 else -math.inf

    def sentence(self) -> str:
        """Describe the change as evidence: ``cpu_us/o 41.2 -> 60.3 us (x1.46)``."""
        unit = "" if self.unit in {"count", "ratio", ""} else f" {self.unit}"
        times = f" (x{self.ratio:.2f})" if math.isfinite(self.ratio) else ""
        return f"{self.metric} {show_figure(self.before)} -> {show_figure(self.after)}{unit}{times}"


def figure_change(
    metric: str, before: Sequence[float], after: Sequence[float], smallest_effect: float
) -> FigureChange:
    """Compare the values of one figure on both sides, at least one on each.

    ``smallest_effect`` is the relative change that matters. For a figure that is normally zero, a
    change must also reach the limit in ``LEAST_CHANGE``, in the figure's unit.
    """
    known = METRICS.get(metric)
    higher = known is not None and known.direction is Direction.MORE_IS_BETTER
    # Imported here, because reading a stored explanation needs no statistics.
    from changepoint import compare  # noqa: PLC0415

    found = compare(
        before,
        after,
        smallest_effect=smallest_effect,
        better="higher" if higher else "lower",
    )
    small = abs(found.head.level - found.base.level) < LEAST_CHANGE.get(metric, 0.0)
    low, high = found.ratio_interval
    return FigureChange(
        metric=metric,
        unit=known.unit if known is not None else "",
        before=found.base.level,
        after=found.head.level,
        ratio=found.ratio,
        # Figures are never negative, so a normal approximation's interval is clipped.
        low=max(low, 0.0),
        high=high,
        runs=(found.base.runs, found.head.runs),
        verdict="same" if small and found.verdict in {"better", "worse"} else found.verdict,
    )


def figure_changes(
    before: Mapping[str, Sequence[float]],
    after: Mapping[str, Sequence[float]],
    smallest_effect: float,
) -> tuple[FigureChange, ...]:
    """Compare every figure that both sides have; activity of the DBMS comes last."""
    order = {name: place for place, name in enumerate(METRICS)}
    shared = [
        name for name in before if before[name] and after.get(name) and name not in HEAVY_TAILED
    ]
    return tuple(
        figure_change(name, before[name], after[name], smallest_effect)
        for name in sorted(shared, key=lambda name: (order.get(name, len(order)), name))
    )
