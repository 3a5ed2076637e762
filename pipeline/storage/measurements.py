"""Queries of the store for measurements: the values of metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Engine, Select, func, select

from pipeline.storage.schema import (
    build,
    config,
    machine,
    measurement,
    metric,
    run,
    step,
    step_run,
    workload,
)
from pipeline.storage.selection import OLDEST_FIRST, of_runs, of_steps


class MeasurementRow(NamedTuple):
    """One measurement with its run, revision, machine and step.

    ``disturbed`` is true if something else used the machine during the step.
    """

    target: str
    revision: str
    line: str | None
    config: str
    build_options: str
    machine_class: str
    workload: str
    workload_hash: str
    clients: int
    step: str
    group: str
    unit: str
    metric: str
    repetition: int
    value: float
    run_id: str
    status: str
    disturbed: bool = False


class Value(NamedTuple):
    """The value of one metric for one step of a run."""

    run_id: str
    step: str
    group: str
    status: str
    metric: str
    value: float


def rows(
    engine: Engine,
    *,
    cells: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    line: str | None = None,
) -> Iterator[MeasurementRow]:
    """Yield measurements in the order of runs and steps. A filter that is None selects everything.

    ``cells`` are keys of cells; ``line`` is the name of an imported line.
    """
    wanted = (
        select(
            run.c.target,
            run.c.revision,
            run.c.line,
            config.c.family,
            build.c.options,
            machine.c.machine_class,
            workload.c.name,
            workload.c.hash,
            workload.c.clients,
            step.c.name,
            step.c.group,
            step.c.unit,
            metric.c.name,
            run.c.repetition,
            measurement.c.value,
            run.c.run_id,
            step_run.c.status,
            step_run.c.disturbed.is_not(None),
        )
        # Not as JOINs: PostgreSQL optimises the order of at most eight of those.
        .where(
            step_run.c.run == run.c.id,
            measurement.c.step_run == step_run.c.id,
            metric.c.id == measurement.c.metric,
            step.c.id == step_run.c.step,
            build.c.id == run.c.build_id,
            config.c.id == run.c.config_id,
            machine.c.id == run.c.machine_id,
            workload.c.id == run.c.workload_id,
        )
        .order_by(*OLDEST_FIRST, step_run.c.place, metric.c.name)
    )
    if metrics is not None:
        wanted = wanted.where(metric.c.name.in_(metrics))
    wanted = of_runs(wanted, cells, line)
    with engine.connect() as connection:
        for found in connection.execute(wanted):
            yield MeasurementRow(*found)


def values_of(engine: Engine, run_ids: Sequence[str]) -> Iterator[Value]:
    """Yield the measurements of at most a few hundred runs, in the order of their steps."""
    wanted = (
        _values()
        .where(run.c.run_id.in_(run_ids))
        .order_by(*OLDEST_FIRST, step_run.c.place, metric.c.name)
    )
    with engine.connect() as connection:
        for found in connection.execute(wanted):
            yield Value._make(found)


def _values() -> Select[Any]:
    return (
        of_steps(
            select(
                run.c.run_id,
                step.c.name,
                step.c.group,
                step_run.c.status,
                metric.c.name,
                measurement.c.value,
            )
        )
        .join(measurement, measurement.c.step_run == step_run.c.id)
        .join(metric, metric.c.id == measurement.c.metric)
    )


def count_measurements(engine: Engine) -> int:
    """Return the number of measurements in the store."""
    with engine.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(measurement)).scalar_one())
