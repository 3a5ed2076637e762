"""Write the runs of bundles into the store as rows."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import psycopg
from sqlalchemy import Connection, Table, delete, insert, select

from pipeline.model import FunctionCost, Manifest, Step, StepStatus, digest
from pipeline.storage import schema
from pipeline.storage.bundle import Bundle
from pipeline.storage.database import exclusive

Settings = Mapping[str, str]
"""The settings that a server reported: name -> value."""


@dataclass(frozen=True)
class StepValues:
    """The values of one step of a run, ready to be written into the store.

    ``values`` is by metric and empty for a failed step. ``timeline`` has entries (seconds since the
    start, operations per second, latency in milliseconds). ``marks`` are sentences that say why the
    step's figures need care. ``activity`` is the DBMS's activity: by name, entries (seconds since
    the start, value). ``histogram`` has entries (upper bound in milliseconds, operations),
    ascending. ``disturbed`` describes what else used the machine during the step, one sentence for
    each kind. ``functions`` are the costly functions of a counted step, which the store keeps.
    """

    step: Step
    status: StepStatus
    note: str
    values: Mapping[str, float]
    timeline: Sequence[tuple[float, float, float | None]] = ()
    marks: Sequence[str] = ()
    activity: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    histogram: Sequence[tuple[float, int]] = ()
    disturbed: Mapping[str, str] = field(default_factory=dict)
    functions: Sequence[FunctionCost] = ()

    def activity_mean(self) -> dict[str, float]:
        """Return the mean of each activity of the DBMS over the step."""
        return {
            name: statistics.fmean(value for _, value in points)
            for name, points in self.activity.items()
            if points
        }


class Writer:
    """Writes runs into the store on one connection, each in a transaction of its own.

    The ids of shared rows are cached, because only a rebuild removes such rows.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ids: dict[tuple[str, str], int] = {}
        rows = connection.execute(select(schema.run.c.run_id))
        self._runs = {str(row.run_id) for row in rows}
        connection.rollback()

    def knows(self, run_id: str) -> bool:
        """Return whether the store already has this run."""
        return run_id in self._runs

    def write(
        self, bundle: Bundle, settings: Settings | None, steps: Sequence[StepValues]
    ) -> int | None:
        """Write one run completely or not at all; return the number of its measurements.

        Returns None if another process has already written the run. Raises DataError or
        OverflowError for a number that the database cannot hold.
        """
        with self._changing():
            if self._has(bundle.manifest.run_id):
                return None
            written = self._write(bundle, settings, steps)
        self._runs.add(bundle.manifest.run_id)
        return written

    def replace(
        self, bundle: Bundle, settings: Settings | None, steps: Sequence[StepValues]
    ) -> None:
        """Replace the rows of a run in the store by those of its bundle, in one transaction."""
        with self._changing():
            self._remove(bundle.manifest.run_id)
            self._write(bundle, settings, steps)

    def remove(self, run_id: str) -> None:
        """Remove all rows of a run from the store, in one transaction."""
        with self._changing():
            self._remove(run_id)
        self._runs.discard(run_id)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        try:
            with exclusive(self._connection):
                yield
        except BaseException:
            # The rollback has removed rows whose ids are cached.
            self._ids.clear()
            raise

    def _remove(self, run_id: str) -> None:
        number = select(schema.run.c.id).where(schema.run.c.run_id == run_id).scalar_subquery()
        steps = select(schema.step_run.c.id).where(schema.step_run.c.run == number)
        for gone in (
            delete(schema.function_cost).where(schema.function_cost.c.step_run.in_(steps)),
            delete(schema.measurement).where(schema.measurement.c.step_run.in_(steps)),
            delete(schema.step_run).where(schema.step_run.c.run == number),
            delete(schema.run).where(schema.run.c.run_id == run_id),
        ):
            self._connection.execute(gone)

    def _has(self, run_id: str) -> bool:
        wanted = select(schema.run.c.id).where(schema.run.c.run_id == run_id)
        return self._connection.execute(wanted).first() is not None

    def _write(self, bundle: Bundle, settings: Settings | None, steps: Sequence[StepValues]) -> int:
        run = self._write_run(bundle, settings, steps)
        if not steps:
            return 0
        # One statement for all steps; it returns their ids in the order of the rows.
        added = self._connection.execute(
            insert(schema.step_run).returning(schema.step_run.c.id, sort_by_parameter_order=True),
            [
                {
                    "run": run,
                    "step": self._step_id(step.step),
                    "place": place,
                    "status": step.status.value,
                    "note": step.note,
                    "timeline": step.timeline,
                    "marks": step.marks,
                    "activity": step.activity,
                    "activity_mean": step.activity_mean(),
                    "histogram": step.histogram,
                    "disturbed": dict(step.disturbed) or None,
                }
                for place, step in enumerate(steps)
            ],
        ).scalars()
        step_runs = list(added)
        self._write_functions(step_runs, steps)
        rows = [
            (step_run, self._metric_id(name), value)
            for step_run, step in zip(step_runs, steps, strict=True)
            for name, value in step.values.items()
        ]
        self._write_measurements(rows)
        return len(rows)

    def _write_measurements(self, rows: Sequence[tuple[int, int, float]]) -> None:
        """Write the measurements of a run; PostgreSQL uses COPY, which is twenty times as fast."""
        if self._connection.dialect.name == "postgresql":
            cursor = cast(psycopg.Cursor[Any], self._connection.connection.cursor())
            with cursor, cursor.copy("COPY measurement (step_run, metric, value) FROM STDIN") as to:
                for row in rows:
                    to.write_row(row)
        elif rows:
            named = [dict(zip(("step_run", "metric", "value"), row, strict=True)) for row in rows]
            self._connection.execute(insert(schema.measurement), named)

    def _write_functions(self, step_runs: Sequence[int], steps: Sequence[StepValues]) -> None:
        rows = [
            {
                "step_run": step_run,
                "function": self._function_id(cost),
                "self_cost": cost.self_cost,
                "inclusive_cost": cost.inclusive_cost,
            }
            for step_run, step in zip(step_runs, steps, strict=True)
            for cost in step.functions
        ]
        if rows:
            self._connection.execute(insert(schema.function_cost), rows)

    def _write_run(
        self, bundle: Bundle, settings: Settings | None, steps: Sequence[StepValues]
    ) -> int:
        head = bundle.manifest
        return self._insert(
            schema.run,
            {
                "run_id": head.run_id,
                "bundle_sha256": bundle.sha256,
                "origin": head.origin.value,
                "cell_key": head.cell_key,
                "repetition": head.repetition,
                "target": head.revision.target,
                "revision": head.revision.label,
                "revision_order": list(head.revision.order),
                "line": head.line,
                "pinning": head.pinning.model_dump(mode="json"),
                "tools": head.tools,
                "started_at": head.started_at,
                "ended_at": head.ended_at,
                **self._shared_ids(head),
                "settings_id": self._settings_id(settings),
                "revision_at": head.revision.at or head.build.provenance.made,
                "digest": _digest(steps),
                "control": head.control.name if head.control else None,
                "control_night": head.control.night if head.control else None,
            },
        )

    def _shared_ids(self, head: Manifest) -> dict[str, int]:
        build, config, workload = head.build, head.config, head.workload
        described = build.model_dump(mode="json")
        return {
            "build_id": self._shared(
                schema.build,
                digest(described),
                {
                    "target": build.target,
                    "version": build.version,
                    "options": build.options,
                    "program_hash": build.hash,
                    "provenance": described["provenance"],
                },
            ),
            "config_id": self._shared(
                schema.config,
                digest(config.model_dump(mode="json")),
                {"family": config.family, "name": config.name, "text": config.text},
            ),
            "machine_id": self._shared(
                schema.machine,
                digest(head.machine.model_dump(mode="json")),
                {
                    "machine_class": head.machine.machine_class,
                    "fingerprint": head.machine.model_dump(mode="json"),
                },
            ),
            "workload_id": self._shared(
                schema.workload,
                workload.hash,
                {
                    "family": workload.family,
                    "name": workload.name,
                    "version": workload.version,
                    "clients": workload.scale.clients,
                    "mode": workload.mode.value,
                    "definition": workload.model_dump(mode="json"),
                },
            ),
        }

    def _settings_id(self, variables: Settings | None) -> int | None:
        if variables is None:
            return None
        return self._shared(schema.settings, digest(variables), {"variables": variables})

    def _step_id(self, step: Step) -> int:
        row = step.model_dump()
        return self._identified(schema.step, f"{step.name}/{step.group}/{step.unit}", row, row)

    def _function_id(self, cost: FunctionCost) -> int:
        row = {"name": cost.function, "binary": cost.binary}
        return self._identified(schema.function, f"{cost.binary}/{cost.function}", row, row)

    def _metric_id(self, name: str) -> int:
        return self._identified(schema.metric, name, {"name": name}, match={"name": name})

    def _shared(self, table: Table, key: str, row: Mapping[str, Any]) -> int:
        return self._identified(table, key, {"hash": key, **row}, match={"hash": key})

    def _identified(
        self, table: Table, key: str, row: Mapping[str, Any], match: Mapping[str, Any]
    ) -> int:
        """Return the id of a row with this content; insert the row if it is missing."""
        if (table.name, key) not in self._ids:
            wanted = select(table.c.id).where(*(table.c[name] == match[name] for name in match))
            found = self._connection.execute(wanted).scalar()
            self._ids[table.name, key] = self._insert(table, row) if found is None else int(found)
        return self._ids[table.name, key]

    def _insert(self, table: Table, row: Mapping[str, Any]) -> int:
        added = insert(table).values(**row).returning(table.c.id)
        return int(self._connection.execute(added).scalar_one())


def _digest(steps: Sequence[StepValues]) -> str:
    """Return a digest of the results of a run: the outcome and exact values of each step."""
    return digest(
        [
            [
                step.step.name,
                place,
                step.status.value,
                sorted(map(_exact, step.values.items())),
                sorted(map(_exact, step.activity_mean().items())),
            ]
            for place, step in enumerate(steps)
        ]
    )


def _exact(value: tuple[str, float]) -> tuple[str, str]:
    return value[0], repr(float(value[1]))
