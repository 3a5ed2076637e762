"""Series and shifts to reason about."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.model import SeriesKey, Shift
from pipeline.regressions.rules import DetectionSettings
from pipeline.regressions.shifts import search_series
from pipeline.storage.series import Point, Series


def find_shifts(series: Series, watch: DetectionSettings) -> list[Shift]:
    """Return the changes of one series that are reported."""
    return search_series(series, watch).shifts


def key(step: str = "scan", metric: str = "qps", line: str = "minors") -> SeriesKey:
    return SeriesKey(
        line=line,
        target="postgres",
        config="x10a",
        build_options="official",
        machine_class="tested",
        workload="cached",
        workload_hash="h",
        clients=1,
        step=step,
        group="writes",
        unit="queries",
        metric=metric,
    )


def series(
    levels: Sequence[float], metric: str = "qps", positions: Sequence[int] | None = None
) -> Series:
    """Three repetitions at each level, a little apart, so that steps in it are clear."""
    places = positions if positions is not None else range(len(levels))
    return Series.of(
        key=key(metric=metric),
        points=tuple(
            Point(
                position=place,
                revision=f"17.{place}",
                repetition=repetition,
                value=level * (1 + 0.002 * (repetition - 2) + 0.0005 * ((7 * place) % 5)),
                run_id=f"{place}-{repetition}",
            )
            for place, level in zip(places, levels, strict=True)
            for repetition in (1, 2, 3)
        ),
    )


def shift(
    position: int,
    effect: float = -0.2,
    *,
    step: str = "scan",
    metric: str = "qps",
    line: str = "minors",
    worse: bool = True,
    interval: tuple[int, int] | None = None,
    pvalue: float = 0.001,
) -> Shift:
    earliest, latest = interval or (position, position)
    return Shift(
        series=key(step, metric, line),
        position=position,
        earliest=earliest,
        latest=latest,
        last_good=f"17.{position - 1}",
        first_bad=f"17.{position}",
        before=100.0,
        after=100.0 * (1 + effect),
        effect=effect,
        effect_low=effect - 0.01,
        effect_high=effect + 0.01,
        pvalue=pvalue,
        worse=worse,
    )
