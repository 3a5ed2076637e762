"""Read the measurements of controls (the same binary measured again every night) from the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

from sqlalchemy import Engine, select

from pipeline.model import Mode
from pipeline.storage.runs import workload_mode
from pipeline.storage.schema import (
    build,
    machine,
    measurement,
    metric,
    run,
    step,
    step_run,
    workload,
)
from pipeline.storage.selection import listed_in


class ControlRow(NamedTuple):
    """One measurement of a control, with its machine, its night and its step.

    ``machine`` is the fingerprint of the machine. ``build_hash`` identifies the program:
    measurements of different programs belong to different controls. ``disturbed`` says that
    something else used the machine during the step.
    """

    run_id: str
    control: str
    night: date
    repetition: int
    started_at: datetime
    machine: dict[str, Any]
    target: str
    build_hash: str
    workload: str
    workload_hash: str
    step: str
    group: str
    unit: str
    status: str
    metric: str
    value: float
    disturbed: bool = False


def control_rows(engine: Engine, metrics: Sequence[str]) -> Iterator[ControlRow]:
    """Yield the timed measurements of controls in the given metrics, oldest first."""
    wanted = (
        select(
            run.c.run_id,
            run.c.control,
            run.c.control_night,
            run.c.repetition,
            run.c.started_at,
            run.c.machine_id,
            run.c.target,
            build.c.program_hash,
            workload.c.name,
            workload.c.hash,
            step.c.name,
            step.c.group,
            step.c.unit,
            step_run.c.status,
            metric.c.name,
            measurement.c.value,
            step_run.c.disturbed.is_not(None),
        )
        .where(
            step_run.c.run == run.c.id,
            measurement.c.step_run == step_run.c.id,
            metric.c.id == measurement.c.metric,
            metric.c.name.in_(metrics),
            step.c.id == step_run.c.step,
            build.c.id == run.c.build_id,
            workload.c.id == run.c.workload_id,
            # Counts say nothing of a machine.
            workload_mode() == Mode.TIME.value,
        )
        .order_by(run.c.started_at, run.c.run_id, step_run.c.place, metric.c.name)
    )
    controls = select(run.c.run_id).where(run.c.control.is_not(None))
    with engine.connect() as connection:
        # Beforehand: no database knows that few runs of many are controls.
        measured = list(connection.execute(controls).scalars())
        if not measured:
            return
        # A fingerprint has some kilobytes, and one machine has tens of thousands of rows.
        prints = {
            found.id: found.fingerprint
            for found in connection.execute(
                select(machine.c.id, machine.c.fingerprint).where(
                    machine.c.id.in_(select(run.c.machine_id).where(run.c.control.is_not(None)))
                )
            )
        }
        for found in connection.execute(listed_in(wanted, run.c.run_id, measured)):
            row = ControlRow._make(found)
            yield row._replace(machine=prints[found.machine_id])
