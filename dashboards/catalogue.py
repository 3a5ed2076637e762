"""Every dashboard, by the name of its file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from grafana_foundation_sdk.builders.dashboard import ConstantVariable
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.compare import compare
from dashboards.counts import counts
from dashboards.insert_benchmark import insert_benchmark
from dashboards.machines import machines
from dashboards.nights import pipeline
from dashboards.overview import overview
from dashboards.step import step
from dashboards.trend import trend

DASHBOARDS: Mapping[str, Callable[[Sequence[ConstantVariable]], Dashboard]] = {
    "overview": overview,
    "target-trend": trend,
    "step-detail": step,
    "counts": counts,
    "compare-versions": compare,
    "insert-benchmark": insert_benchmark,
    "machines": machines,
    "pipeline": pipeline,
}
