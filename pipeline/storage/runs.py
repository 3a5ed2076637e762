"""Queries of the store for runs: what was measured, when, on which machine, with which settings."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Engine, Select, func, select

from pipeline.model import Machine, Mode, Origin, column_name
from pipeline.storage.schema import (
    build,
    config,
    machine,
    read_time,
    run,
    settings,
    workload,
)
from pipeline.storage.selection import OLDEST_FIRST, of_runs


class RunRow(NamedTuple):
    """One run: revision, build, configuration, machine, workload and times.

    ``revision_at`` is the time of the revision, None if unknown. ``digest`` is a digest of all
    values of the run. Both are None for runs that were ingested before the store had these columns.
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
        """The published name of what the run measured: build, configuration and machine."""
        return column_name(self.target, self.revision, self.build_options, self.config)


_MODES = {mode.value: mode for mode in Mode}


class RunHead(NamedTuple):
    """The identity of a run: its cell, machine and times, without its values.

    ``revision_at`` is the time of its revision, if known. ``machine`` is a key of the result of
    :func:`machines`. ``digest`` covers everything derived from its bundle; None for runs that were
    ingested before the store had this column.
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
    mode: Mode
    started_at: datetime
    ended_at: datetime
    digest: str | None


def number_of_runs(engine: Engine) -> int:
    """Return the number of all runs in the store."""
    with engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(run)) or 0


def measured(engine: Engine) -> set[tuple[str, int]]:
    """Return every run in the store as a pair of cell key and repetition."""
    with engine.connect() as connection:
        cursor: Any = connection.execute(select(run.c.cell_key, run.c.repetition)).cursor
        # The driver's own rows: SQLAlchemy's would take several times as long.
        return set(cursor.fetchall())


def measured_cells(engine: Engine) -> dict[tuple[str, str], set[str]]:
    """Return the keys of all cells that have runs, by target and revision."""
    wanted = select(run.c.target, run.c.revision, run.c.cell_key).distinct()
    found: dict[tuple[str, str], set[str]] = {}
    with engine.connect() as connection:
        # The driver's own rows: SQLAlchemy's would take several times as long.
        cursor: Any = connection.execute(wanted).cursor
        for target, revision, key in cursor.fetchall():
            found.setdefault((target, revision), set()).add(key)
    return found


def last_machine(engine: Engine, hostname: str) -> Machine | None:
    """Return the fingerprint that a machine had at its last run; None without runs."""
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


def runs(
    engine: Engine, *, cells: Sequence[str] | None = None, line: str | None = None
) -> list[RunRow]:
    """Return the runs of some cells or of an imported line, oldest first."""
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
    """Return the identities of the runs of some cells, or of all, oldest first."""
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
        workload_mode(),
        run.c.started_at,
        run.c.ended_at,
        run.c.digest,
    )
    with engine.connect() as connection:
        # The driver's own rows: SQLAlchemy's would take several times as long.
        cursor: Any = connection.execute(_with_shared(wanted, cells)).cursor
        return [
            RunHead._make(
                (
                    *row[:3],
                    read_time(row[3]),
                    *row[4:14],
                    _MODES[row[14]],
                    read_time(row[15]),
                    read_time(row[16]),
                    row[17],
                )
            )
            for row in cursor.fetchall()
        ]


def contents(engine: Engine) -> str | None:
    """Return a digest of all runs of a store; None if a run has no digest."""
    with engine.connect() as connection:
        wanted = select(run.c.run_id, run.c.digest).order_by(run.c.run_id)
        cursor: Any = connection.execute(wanted).cursor
        runs = cursor.fetchall()
    if any(content is None for _, content in runs):
        return None
    return hashlib.sha256("\n".join(map(" ".join, runs)).encode()).hexdigest()


def workload_mode() -> ColumnElement[str]:
    """Return the SQL expression for a run's mode: timed (also if not stored) or counted."""
    return func.coalesce(workload.c.mode, Mode.TIME.value).label("mode")


def machines(engine: Engine) -> dict[str, dict[str, Any]]:
    """Return the fingerprints of all machines in the store, by their hash."""
    with engine.connect() as connection:
        found = connection.execute(select(machine.c.hash, machine.c.fingerprint))
        return {row.hash: dict(row.fingerprint) for row in found}


def hostnames(engine: Engine) -> dict[str, str]:
    """Return the host names of all machines in the store, by the hash of their fingerprint."""
    return {key: str(known["hostname"]) for key, known in machines(engine).items()}


def measured_time(engine: Engine, run_ids: Collection[str] | None = None) -> timedelta:
    """Return the total duration of all measured runs, or of those with the given ids."""
    wanted = select(run.c.started_at, run.c.ended_at).where(run.c.origin == Origin.MEASURED.value)
    if run_ids is not None:
        wanted = wanted.where(run.c.run_id.in_(run_ids))
    with engine.connect() as connection:
        return sum((ended - began for began, ended in connection.execute(wanted)), timedelta())


def settings_of(engine: Engine, settings_id: int) -> dict[str, str]:
    """Return the settings that the DBMS reported in a run, by name."""
    with engine.connect() as connection:
        wanted = select(settings.c.variables).where(settings.c.id == settings_id)
        return dict(connection.execute(wanted).scalar_one())


def _with_shared(
    wanted: Select[Any], cells: Sequence[str] | None, line: str | None = None
) -> Select[Any]:
    """Join a query on runs with their machine, build, configuration and workload, oldest first."""
    joined = (
        wanted.select_from(run)
        .join(build, build.c.id == run.c.build_id)
        .join(config, config.c.id == run.c.config_id)
        .join(machine, machine.c.id == run.c.machine_id)
        .join(workload, workload.c.id == run.c.workload_id)
    )
    return of_runs(joined.order_by(*OLDEST_FIRST), cells, line)
