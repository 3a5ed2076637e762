"""The view by run time: what was measured in each run, and what its DBMS did meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlalchemy import Engine

from pipeline.model import digest
from pipeline.publish.names import FIGURES, OTHERS, RUN
from pipeline.publish.samples import Group, Sample, TimeSeries, milliseconds
from pipeline.publish.strands import Strand, published_values
from pipeline.store.queries import RunHead, activity_of


def run_groups(store: Engine, strands: Iterable[Strand]) -> Iterator[Group]:
    """Yield a group for each run on each line, strand by strand, oldest first.

    Two machines of a class can begin a run within the same millisecond; the later one in the order
    of their names is then told a millisecond later, as Prometheus keeps one value of the two.
    """
    for strand in strands:
        runs = sorted(
            (run for standing in strand.standings for run in standing.runs),
            key=lambda run: (run.started_at, run.run_id),
        )
        last = None
        for run in runs:
            at = milliseconds(run.started_at)
            last = at if last is None else max(at, last + 1)
            yield _group(store, strand, run, last)


def _group(store: Engine, strand: Strand, run: RunHead, at: int) -> Group:
    def series() -> Iterator[TimeSeries]:
        for value in published_values(store, [run]):
            labels = strand.figure(RUN, value.metric, value.step, value.group)
            factor = FIGURES[value.metric].factor
            yield TimeSeries(labels, [Sample(at, value.value * factor)])
        for step, group, activity, mean in activity_of(store, run.run_id):
            labels = strand.label(OTHERS["activity"].name, step, group, activity=activity)
            yield TimeSeries(labels, [Sample(at, mean)])

    key = " ".join(map(str, (*strand.setup, run.run_id)))
    return Group(f"run {key}", digest([run.digest, at]), series)
