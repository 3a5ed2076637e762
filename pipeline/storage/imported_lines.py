"""Imported lines: the revisions and cells of results that were measured elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Engine, select

from pipeline.measure.plan import Line
from pipeline.model import Cell, Revision, ServerConfig, Workload
from pipeline.storage.schema import (
    build,
    config,
    machine,
    measurement,
    metric,
    run,
    step_run,
    workload,
)
from pipeline.storage.selection import OLDEST_FIRST


def imported_lines(engine: Engine) -> tuple[Line, ...]:
    """Return the imported lines that have values, by name; revisions in order of import."""
    wanted = (
        select(
            run.c.line,
            run.c.target,
            run.c.revision,
            run.c.revision_order,
            run.c.revision_at,
            run.c.workload_id,
            build.c.options,
            config.c.family,
            config.c.name,
            config.c.text,
            machine.c.machine_class,
        )
        .select_from(run)
        .join(build, build.c.id == run.c.build_id)
        .join(config, config.c.id == run.c.config_id)
        .join(machine, machine.c.id == run.c.machine_id)
        .where(run.c.line.is_not(None))
        .order_by(*OLDEST_FIRST)
    )
    cells: dict[str, dict[str, Cell]] = {}
    with engine.connect() as connection:
        rows = list(connection.execute(wanted))
        workloads = _workloads(connection, {row.workload_id for row in rows})
        for row in rows:
            cell = _cell(row, workloads[row.workload_id])
            cells.setdefault(row.line, {}).setdefault(cell.key, cell)
        metrics = _metrics(connection) if rows else {}
    # Sorted here: databases differ in their alphabetical order.
    return tuple(_line(name, cells[name], metrics[name]) for name in sorted(cells.keys() & metrics))


def imported_orders(engine: Engine, line: str) -> dict[str, tuple[int, ...]]:
    """Return the sort key of each revision on an imported line, by the revision's label."""
    wanted = select(run.c.revision, run.c.revision_order).where(run.c.line == line)
    with engine.connect() as connection:
        return {label: tuple(order) for label, order in connection.execute(wanted)}


def _workloads(connection: Connection, numbers: set[int]) -> dict[int, Workload]:
    wanted = select(workload.c.id, workload.c.definition).where(workload.c.id.in_(numbers))
    return {
        number: Workload.model_validate(definition)
        for number, definition in connection.execute(wanted)
    }


def _cell(row: Any, load: Workload) -> Cell:
    return Cell(
        revision=Revision(
            target=row.target,
            version=row.revision,
            order=tuple(row.revision_order),
            major="",
            at=row.revision_at,
        ),
        build_options=row.options,
        config=ServerConfig(family=row.family, name=row.name, text=row.text),
        machine_class=row.machine_class,
        workload=load,
        imported=row.line,
    )


def _metrics(connection: Connection) -> dict[str, tuple[str, ...]]:
    """Return the metrics of each imported line, in the order in which they first occur."""
    wanted = (
        select(run.c.line, metric.c.name)
        .select_from(run)
        .join(step_run, step_run.c.run == run.c.id)
        .join(measurement, measurement.c.step_run == step_run.c.id)
        .join(metric, metric.c.id == measurement.c.metric)
        .where(run.c.line.is_not(None))
        .group_by(run.c.line, metric.c.id, metric.c.name)
        .order_by(metric.c.id)
    )
    found: dict[str, tuple[str, ...]] = {}
    for line, name in connection.execute(wanted):
        found[line] = (*found.get(line, ()), name)
    return found


def _line(name: str, cells: Mapping[str, Cell], metrics: tuple[str, ...]) -> Line:
    ordered = sorted(cells.values(), key=lambda cell: cell.revision.order)
    revisions = {cell.revision.label: cell.revision for cell in ordered}
    return Line(
        name=name,
        target=ordered[0].revision.target,
        revisions=tuple(revisions.values()),
        cells=tuple(ordered),
        # Nothing of the line is due.
        kept=frozenset(revisions),
        metrics=metrics,
    )
