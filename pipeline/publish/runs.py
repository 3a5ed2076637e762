"""Publish values at the time of their run: its figures, and the DBMS's background activity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlalchemy import Engine

from pipeline.model import digest
from pipeline.publish.measured_setups import MeasuredSetup, published_values
from pipeline.publish.names import FIGURES, OTHERS, RUN
from pipeline.publish.samples import SampleGroup, TimedValue, TimeSeries, milliseconds
from pipeline.storage.runs import RunHead
from pipeline.storage.steps import activity_of


def run_groups(store: Engine, setups: Iterable[MeasuredSetup]) -> Iterator[SampleGroup]:
    """Yield the samples of each run on each line, oldest first within a setup.

    Two machines of a class may begin a run within the same millisecond. The run that is later in
    the order of names is then published a millisecond later, because Prometheus keeps only one
    value per time.
    """
    for measured in setups:
        runs = sorted(
            (run for standing in measured.standings for run in standing.runs),
            key=lambda run: (run.started_at, run.run_id),
        )
        last = None
        for run in runs:
            at = milliseconds(run.started_at)
            last = at if last is None else max(at, last + 1)
            yield _group(store, measured, run, last)


def _group(store: Engine, measured: MeasuredSetup, run: RunHead, at: int) -> SampleGroup:
    def series() -> Iterator[TimeSeries]:
        for value in published_values(store, [run]):
            labels = measured.figure(RUN, value.metric, value.step, value.group)
            factor = FIGURES[value.metric].factor
            yield TimeSeries(labels, [TimedValue(at, value.value * factor)])
        for step, group, activity, mean in activity_of(store, run.run_id):
            labels = measured.label(OTHERS["activity"].name, step, group, activity=activity)
            yield TimeSeries(labels, [TimedValue(at, mean)])

    key = f"{measured.setup.key} {run.run_id}"
    return SampleGroup(f"run {key}", digest([run.digest, at]), series)
