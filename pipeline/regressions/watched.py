"""The series in which detection searches for changes."""

from __future__ import annotations

from pipeline.config import DetectSection
from pipeline.measure.plan import Plan
from pipeline.model import Mode
from pipeline.model.counts import INSTRUCTIONS
from pipeline.storage.columns import MeasurementColumns
from pipeline.storage.series import Series

SLA = "sla"
"""The metric that says whether a step met its SLA. If it did not, the step's other figures were
measured under another load and do not count."""


def watched_metrics(plan: Plan, settings: DetectSection) -> tuple[str, ...]:
    """Return the metrics in which detection searches for changes.

    These are the configured metrics, the SLA, instructions if steps are counted, and all metrics of
    imported lines.
    """
    counts = any(cell.workload.mode is Mode.COUNT for cell in plan.cells)
    imported = (metric for line in plan.lines for metric in line.metrics)
    metrics = (*settings.metrics, SLA, *((INSTRUCTIONS,) if counts else ()), *imported)
    return tuple(dict.fromkeys(metrics))


def watched_series(
    columns: MeasurementColumns, plan: Plan, settings: DetectSection
) -> list[Series]:
    """Return the series of all lines of a plan in the watched metrics, line by line.

    Of counted series, instructions are watched; of timed series, the configured metrics; of
    imported series, all metrics.
    """
    watched = {Mode.TIME: {*settings.metrics, SLA}, Mode.COUNT: {INSTRUCTIONS}}
    return [
        series
        for line in plan.lines
        for series in columns.series_along(
            line.name, [revision.label for revision in line.revisions], line.keys()
        )
        if series.key.metric in (line.metrics or watched[series.key.mode])
    ]
