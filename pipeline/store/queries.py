"""What is read from the store. Every function is one question, answered by one statement."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Engine, Select, func, select

from pipeline.model import Machine, Origin, StepStatus, column_name
from pipeline.store.schema import (
    build,
    config,
    machine,
    measurement,
    metric,
    run,
    settings,
    step,
    step_run,
    workload,
)

_OLDEST_FIRST = (run.c.started_at, run.c.run_id)
"""The order of runs. Not that of their ids: those follow the order of ingest, which a rebuild
does not keep."""


_AT_ONCE = 50
"""Rows with everything over time that are held at once: a few megabytes."""


class Row(NamedTuple):
    """One measurement with everything that places it.

    ``disturbed`` says that something else went on on the machine while it was measured.
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


class StepOutcome(NamedTuple):
    """How one step of one run ended, with its throughput and the DBMS's work over time.

    ``timeline`` is [seconds, operations per second, milliseconds or None], ``activity`` is
    [seconds, value] by name, ``marks`` are sentences that its figures must be read with,
    ``histogram`` is [upper bound in milliseconds, operations], ascending.
    """

    run_id: str
    revision: str
    workload_hash: str
    repetition: int
    step: str
    group: str
    status: str
    note: str
    timeline: list[list[float | None]]
    marks: list[str]
    activity: dict[str, list[list[float]]]
    histogram: list[list[float]]


class Remark(NamedTuple):
    """What is to be known of one step of one run before its figures are believed.

    ``note`` says which rates a step did not sustain that failed its SLA.
    """

    revision: str
    step: str
    status: str
    note: str
    marks: list[str]


class Failure(NamedTuple):
    """A step of a run that failed, or failed its SLA, and why."""

    run_id: str
    step: str
    status: str
    note: str


class RunRow(NamedTuple):
    """One run: what was measured, on what, by what.

    ``revision_at`` is when its revision was made, None where nobody says. ``digest`` changes with
    any of its values. Both are None of runs from before these columns.
    """

    run_id: str
    origin: str
    target: str
    revision: str
    order: list[int]
    line: str | None
    repetition: int
    cell_key: str
    build_options: str
    build_hash: str
    provenance: dict[str, Any]
    config: str
    machine: dict[str, Any]
    pinning: dict[str, list[int]]
    tools: dict[str, str]
    workload: dict[str, Any]
    settings_id: int | None
    started_at: datetime
    ended_at: datetime
    revision_at: datetime | None
    digest: str | None

    @property
    def name(self) -> str:
        """The published name of what was measured."""
        return column_name(self.target, self.revision, self.build_options, self.config)


class RunHead(NamedTuple):
    """What places a run among others, without what it says.

    ``revision_at`` is when its revision was made, if that is known. ``machine`` is the key of
    :func:`machines`. ``digest`` is over all that was taken from its bundle; None in a store from
    before there were any.
    """

    run_id: str
    cell_key: str
    revision: str
    revision_at: datetime | None
    repetition: int
    target: str
    config: str
    build_options: str
    build_hash: str
    machine: str
    machine_class: str
    workload: str
    workload_hash: str
    clients: int
    started_at: datetime
    digest: str | None


class Value(NamedTuple):
    """The value of one metric for one step of a run."""

    run_id: str
    step: str
    group: str
    status: str
    metric: str
    value: float


def measured(engine: Engine) -> set[tuple[str, int]]:
    """Return (cell key, repetition) of every run in the store."""
    with engine.connect() as connection:
        rows = connection.execute(select(run.c.cell_key, run.c.repetition))
        return {(row.cell_key, row.repetition) for row in rows}


def measured_cells(engine: Engine) -> dict[tuple[str, str], set[str]]:
    """Return the keys of the cells that have runs, by target and revision."""
    wanted = select(run.c.target, run.c.revision, run.c.cell_key).distinct()
    found: dict[tuple[str, str], set[str]] = {}
    with engine.connect() as connection:
        for target, revision, key in connection.execute(wanted):
            found.setdefault((target, revision), set()).add(key)
    return found


def last_machine(engine: Engine, hostname: str) -> Machine | None:
    """Return the fingerprint at the last run of a machine of a name; None before the first."""
    wanted = (
        select(machine.c.fingerprint)
        .join(run, run.c.machine_id == machine.c.id)
        .where(machine.c.fingerprint["hostname"].as_string() == hostname)
        .order_by(run.c.started_at.desc(), run.c.run_id.desc())
        .limit(1)
    )
    with engine.connect() as connection:
        known = connection.scalar(wanted)
    return None if known is None else Machine.model_validate(known)


def rows(
    engine: Engine,
    *,
    cells: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    line: str | None = None,
) -> Iterator[Row]:
    """Yield measurements, in the order of runs and steps; all where a filter is None.

    ``cells`` are keys; ``line`` is the line of imported runs.
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
        # Not as JOINs: PostgreSQL looks for the best order of at most eight of those.
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
        .order_by(*_OLDEST_FIRST, step_run.c.place, metric.c.name)
    )
    if metrics is not None:
        wanted = wanted.where(metric.c.name.in_(metrics))
    wanted = _of_runs(wanted, cells, line)
    with engine.connect() as connection:
        for found in connection.execute(wanted):
            yield Row(*found)


def outcomes(engine: Engine, *, cells: Sequence[str] | None = None) -> list[StepOutcome]:
    """Return how the steps of the cells with these keys ended, in the order of runs and steps."""
    return list(each_outcome(engine, cells=cells))


def each_outcome(engine: Engine, *, cells: Sequence[str] | None = None) -> Iterator[StepOutcome]:
    """Yield the same one after the other: with everything over time, all at once are large."""
    wanted = (
        select(
            run.c.run_id,
            run.c.revision,
            workload.c.hash,
            run.c.repetition,
            step.c.name,
            step.c.group,
            step_run.c.status,
            step_run.c.note,
            step_run.c.timeline,
            step_run.c.marks,
            step_run.c.activity,
            step_run.c.histogram,
            step_run.c.disturbed,
        )
        .select_from(run)
        .join(step_run, step_run.c.run == run.c.id)
        .join(step, step.c.id == step_run.c.step)
        .join(workload, workload.c.id == run.c.workload_id)
        .order_by(*_OLDEST_FIRST, step_run.c.place)
    )
    wanted = _of_runs(wanted, cells)
    with engine.connect() as connection:
        for found in connection.execution_options(yield_per=_AT_ONCE).execute(wanted):
            row = StepOutcome(*found[:-1])
            told = [f"disturbed: {each}" for each in (found.disturbed or {}).values()]
            # Rows from before these columns have none.
            yield row._replace(
                marks=[*(row.marks or ()), *told],
                activity=row.activity or {},
                histogram=row.histogram or [],
            )


def remarks(engine: Engine, *, cells: Sequence[str]) -> list[Remark]:
    """Return the steps that were marked or failed their SLA, in the order of runs and steps."""
    wanted = (
        select(
            run.c.revision,
            step.c.name,
            step_run.c.status,
            step_run.c.note,
            step_run.c.marks,
            step_run.c.disturbed,
        )
        .select_from(run)
        .join(step_run, step_run.c.run == run.c.id)
        .join(step, step.c.id == step_run.c.step)
        .order_by(*_OLDEST_FIRST, step_run.c.place)
    )
    with engine.connect() as connection:
        found = []
        for row in connection.execute(_of_runs(wanted, cells)):
            # The kind alone: what is to be known of many runs is said once.
            kinds = [f"disturbed: {kind}" for kind in row.disturbed or ()]
            marks = [*(row.marks or ()), *kinds]
            found.append(Remark(row.revision, row.name, row.status, row.note, marks))
    return [row for row in found if row.marks or row.status == StepStatus.SLA_FAILED]


def runs(
    engine: Engine, *, cells: Sequence[str] | None = None, line: str | None = None
) -> list[RunRow]:
    """Return the runs of the cells with these keys, or of an imported line, oldest first."""
    wanted = select(
        run.c.run_id,
        run.c.origin,
        run.c.target,
        run.c.revision,
        run.c.revision_order,
        run.c.line,
        run.c.repetition,
        run.c.cell_key,
        build.c.options,
        build.c.program_hash,
        build.c.provenance,
        config.c.name,
        machine.c.fingerprint,
        run.c.pinning,
        run.c.tools,
        workload.c.definition,
        run.c.settings_id,
        run.c.started_at,
        run.c.ended_at,
        run.c.revision_at,
        run.c.digest,
    )
    with engine.connect() as connection:
        return [RunRow(*found) for found in connection.execute(_with_shared(wanted, cells, line))]


def run_heads(engine: Engine, *, cells: Sequence[str] | None = None) -> list[RunHead]:
    """Return the runs of the cells with these keys, or all, oldest first, without what is large."""
    wanted = select(
        run.c.run_id,
        run.c.cell_key,
        run.c.revision,
        run.c.revision_at,
        run.c.repetition,
        run.c.target,
        config.c.family,
        build.c.options,
        build.c.program_hash,
        machine.c.hash,
        machine.c.machine_class,
        workload.c.name,
        workload.c.hash,
        workload.c.clients,
        run.c.started_at,
        run.c.digest,
    )
    with engine.connect() as connection:
        return [RunHead._make(found) for found in connection.execute(_with_shared(wanted, cells))]


def figures(engine: Engine, *, cells: Sequence[str], metrics: Sequence[str]) -> Iterator[Value]:
    """Yield the measurements of the cells with these keys, in no order: millions are quick."""
    wanted = _values().where(metric.c.name.in_(metrics))
    with engine.connect() as connection:
        streamed = connection.execution_options(yield_per=10_000)
        for found in streamed.execute(_of_runs(wanted, cells)):
            yield Value._make(found)


def values_of(engine: Engine, run_ids: Sequence[str]) -> Iterator[Value]:
    """Yield what was measured in these runs, at most a few hundred, in the order of their steps."""
    wanted = (
        _values()
        .where(run.c.run_id.in_(run_ids))
        .order_by(*_OLDEST_FIRST, step_run.c.place, metric.c.name)
    )
    with engine.connect() as connection:
        for found in connection.execute(wanted):
            yield Value._make(found)


def _values() -> Select[Any]:
    return (
        select(
            run.c.run_id,
            step.c.name,
            step.c.group,
            step_run.c.status,
            metric.c.name,
            measurement.c.value,
        )
        .select_from(run)
        .join(step_run, step_run.c.run == run.c.id)
        .join(step, step.c.id == step_run.c.step)
        .join(measurement, measurement.c.step_run == step_run.c.id)
        .join(metric, metric.c.id == measurement.c.metric)
    )


def activity_of(engine: Engine, run_id: str) -> Iterator[tuple[str, str, str, float]]:
    """Yield (step, group, activity, its mean over the step) of a run, in the order of its steps."""
    wanted = (
        select(step.c.name, step.c.group, step_run.c.activity_mean)
        .select_from(run)
        .join(step_run, step_run.c.run == run.c.id)
        .join(step, step.c.id == step_run.c.step)
        .where(run.c.run_id == run_id)
        .order_by(step_run.c.place)
    )
    with engine.connect() as connection:
        for name, group, means in connection.execute(wanted):
            for activity, mean in (means or {}).items():
                yield name, group, activity, mean


def failures(engine: Engine, *, cells: Sequence[str]) -> list[Failure]:
    """Return the steps that failed, or failed their SLA, in the order of runs and steps."""
    wanted = (
        select(run.c.run_id, step.c.name, step_run.c.status, step_run.c.note)
        .select_from(run)
        .join(step_run, step_run.c.run == run.c.id)
        .join(step, step.c.id == step_run.c.step)
        .where(step_run.c.status != StepStatus.OK.value)
        .order_by(*_OLDEST_FIRST, step_run.c.place)
    )
    with engine.connect() as connection:
        return [Failure(*found) for found in connection.execute(_of_runs(wanted, cells))]


def machines(engine: Engine) -> dict[str, dict[str, Any]]:
    """Return the fingerprints of all machines, by the hash of their content."""
    with engine.connect() as connection:
        found = connection.execute(select(machine.c.hash, machine.c.fingerprint))
        return {row.hash: dict(row.fingerprint) for row in found}


def measured_time(engine: Engine, run_ids: Collection[str] | None = None) -> timedelta:
    """Return how long all runs that were measured here took, or those of these ids."""
    wanted = select(run.c.started_at, run.c.ended_at).where(run.c.origin == Origin.MEASURED.value)
    if run_ids is not None:
        wanted = wanted.where(run.c.run_id.in_(run_ids))
    with engine.connect() as connection:
        return sum((ended - began for began, ended in connection.execute(wanted)), timedelta())


def count_failed(engine: Engine, run_ids: Collection[str]) -> int:
    """Return how many steps failed in the runs of these ids."""
    wanted = (
        select(func.count())
        .select_from(run)
        .join(step_run, step_run.c.run == run.c.id)
        .where(run.c.run_id.in_(run_ids), step_run.c.status == StepStatus.FAILED.value)
    )
    with engine.connect() as connection:
        return int(connection.execute(wanted).scalar_one())


def settings_of(engine: Engine, settings_id: int) -> dict[str, str]:
    """Return the variables a server reported, by name."""
    with engine.connect() as connection:
        wanted = select(settings.c.variables).where(settings.c.id == settings_id)
        return dict(connection.execute(wanted).scalar_one())


def imported_lines(engine: Engine) -> list[str]:
    """Return the names of the lines that were imported."""
    wanted = select(run.c.line).where(run.c.line.is_not(None)).distinct()
    with engine.connect() as connection:
        # Sorted here: databases differ in what they take for alphabetical.
        return sorted(str(name) for name in connection.execute(wanted).scalars())


def imported_metrics(engine: Engine, line: str) -> list[str]:
    """Return the metrics that an imported line has, in the order they were first met."""
    wanted = (
        select(metric.c.name)
        .select_from(run)
        .join(step_run, step_run.c.run == run.c.id)
        .join(measurement, measurement.c.step_run == step_run.c.id)
        .join(metric, metric.c.id == measurement.c.metric)
        .where(run.c.line == line)
        .group_by(metric.c.id, metric.c.name)
        .order_by(metric.c.id)
    )
    with engine.connect() as connection:
        return [str(name) for name in connection.execute(wanted).scalars()]


def count_measurements(engine: Engine) -> int:
    """Return how many measurements the store holds."""
    with engine.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(measurement)).scalar_one())


def _with_shared(
    wanted: Select[Any], cells: Sequence[str] | None, line: str | None = None
) -> Select[Any]:
    """Join runs with what they share with others, oldest first."""
    joined = (
        wanted.select_from(run)
        .join(build, build.c.id == run.c.build_id)
        .join(config, config.c.id == run.c.config_id)
        .join(machine, machine.c.id == run.c.machine_id)
        .join(workload, workload.c.id == run.c.workload_id)
    )
    return _of_runs(joined.order_by(*_OLDEST_FIRST), cells, line)


def _of_runs(
    wanted: Select[Any], cells: Sequence[str] | None, line: str | None = None
) -> Select[Any]:
    if cells is not None:
        wanted = wanted.where(run.c.cell_key.in_(cells))
    return wanted.where(run.c.line == line) if line is not None else wanted
