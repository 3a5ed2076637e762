"""The documented views of the store, on which people and programs run their own queries.

The views have the names of the vocabulary and flat columns, so a query needs no join to name what
it measured. They are the same on SQLite, on PostgreSQL and in the database of the site, which lays
its tables out differently: only the ``ViewSources`` differ. docs/guide/sql.md lists the
columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pipeline.model import Mode, StepStatus
from pipeline.storage.bundle import BUNDLES, SUFFIX
from pipeline.storage.derive.background import SLA_METRICS

RUN_COLUMNS = (
    "run_id",
    "origin",
    "target",
    "revision",
    "revision_at",
    "repetition",
    "build_options",
    "program_hash",
    "config",
    "config_file",
    "machine_class",
    "hostname",
    "workload",
    "workload_version",
    "workload_hash",
    "clients",
    "mode",
    "started_at",
    "ended_at",
    "control",
    "cell_key",
    "bundle_sha256",
    "bundle",
)
"""The columns of the view ``run``, in order."""

IDENTITY_COLUMNS = (
    "run_id",
    "target",
    "revision",
    "revision_at",
    "repetition",
    "build_options",
    "config",
    "machine_class",
    "hostname",
    "workload",
    "workload_hash",
    "clients",
    "mode",
    "started_at",
)
"""The columns that say what a value was measured on, in every view with values."""

LINE_REVISION, LINE_CELL = "line_revision", "line_cell"
"""Tables that a plan fills: the position of each revision on a line, and the cells of a line."""


class ViewSources(NamedTuple):
    """The tables and subqueries from which the views read, as SQL.

    Attributes:
        runs: runs with ``id`` and the columns of the view ``run``.
        measured: measurements with the ids of run, step and metric, with place, status, disturbed
            and value.
        step_runs: steps of runs with their ids, place and timeline.
        costs: costs of functions with the ids of run, step and function, and the place.
        step, metric, function: names by id.
        line_revision, line_cell: the tables ``LINE_REVISION`` and ``LINE_CELL``.
        seconds: the points of the timeline of ``s``, as a table ``t`` with the column ``value``.
        element: the pattern of an expression for one number of such a point, by its index.
    """

    runs: str
    measured: str
    step_runs: str
    costs: str
    step: str
    metric: str
    function: str
    line_revision: str
    line_cell: str
    seconds: str
    element: str


def view_definitions(sources: ViewSources) -> Mapping[str, str]:
    """Return the query of every view by its name; ``regression`` is a table of its own."""
    identity = ", ".join(f"r.{name}" for name in IDENTITY_COLUMNS)
    step = 'st.name AS step, st."group" AS step_group, st.unit'
    sla_metrics = ", ".join(f"'{name}'" for name in sorted(SLA_METRICS))
    valid = f"(x.status <> '{StepStatus.SLA_FAILED.value}' OR me.name IN ({sla_metrics}))"
    second = {name: sources.element.format(at) for at, name in enumerate(_SECOND)}
    return {
        "run": f"SELECT {', '.join(f'r.{name}' for name in RUN_COLUMNS)} FROM {sources.runs} r",  # noqa: S608
        "measurement": f"""
            SELECT {identity}, {step}, x.place, x.status, x.disturbed, me.name AS metric, x.value
            FROM {sources.measured} x
            JOIN {sources.runs} r ON r.id = x.run
            JOIN {sources.step} st ON st.id = x.step
            JOIN {sources.metric} me ON me.id = x.metric""",  # noqa: S608
        # The rules of MeasurementColumns.series_along.
        "series_point": f"""
            SELECT lr.line, lr.position, {identity}, {step}, me.name AS metric, x.value
            FROM {sources.line_revision} lr
            JOIN {sources.line_cell} lc ON lc.line = lr.line
            JOIN {sources.runs} r ON r.cell_key = lc.cell_key AND r.revision = lr.revision
            JOIN {sources.measured} x ON x.run = r.id
            JOIN {sources.step} st ON st.id = x.step
            JOIN {sources.metric} me ON me.id = x.metric
            WHERE {valid} AND (NOT x.disturbed OR NOT EXISTS (
                SELECT 1 FROM {sources.runs} calm
                JOIN {sources.measured} y ON y.run = calm.id
                WHERE calm.cell_key = r.cell_key AND calm.revision = r.revision
                AND y.step = x.step AND y.metric = x.metric AND NOT y.disturbed
                AND {valid.replace("x.", "y.")}))""",  # noqa: S608
        "step_second": f"""
            SELECT {identity}, {step}, s.place,
                {", ".join(f"{second[name]} AS {name}" for name in _SECOND)}
            FROM {sources.step_runs} s
            JOIN {sources.runs} r ON r.id = s.run
            JOIN {sources.step} st ON st.id = s.step
            CROSS JOIN {sources.seconds}""",  # noqa: S608
        "function_cost": f"""
            SELECT {identity}, {step}, c.place, fu.name AS function, fu."binary" AS program,
                c.self_cost, c.inclusive_cost
            FROM {sources.costs} c
            JOIN {sources.runs} r ON r.id = c.run
            JOIN {sources.step} st ON st.id = c.step
            JOIN {sources.function} fu ON fu.id = c.function""",  # noqa: S608
    }


_SECOND = ("second", "qps", "latency_ms")
"""The columns of a point of a timeline."""


def store_sources(schema: str, postgresql: bool) -> ViewSources:
    """Return the sources of the views of a store whose tables are in a schema."""
    hostname = "m.fingerprint->>'hostname'"
    seconds, element = "json_array_elements(s.timeline) t(value)", "(t.value->>{})::float"
    if not postgresql:
        hostname = "json_extract(m.fingerprint, '$.hostname')"
        seconds, element = "json_each(s.timeline) t", "json_extract(t.value, '$[{}]')"
    named = {
        "build_options": "b.options",
        "program_hash": "b.program_hash",
        "config": "c.family",
        "config_file": "c.name",
        "machine_class": "m.machine_class",
        "hostname": hostname,
        "workload": "w.name",
        "workload_version": "w.version",
        "workload_hash": "w.hash",
        "clients": "w.clients",
        "mode": f"coalesce(w.mode, '{Mode.TIME.value}')",
        "bundle": f"'{BUNDLES}/' || run.run_id || '{SUFFIX}'",
    }
    columns = ", ".join(f"{named.get(name, f'run.{name}')} AS {name}" for name in RUN_COLUMNS)
    return ViewSources(
        runs=f"""(SELECT run.id, {columns} FROM {schema}.run run
            JOIN {schema}.build b ON b.id = run.build_id
            JOIN {schema}.config c ON c.id = run.config_id
            JOIN {schema}.machine m ON m.id = run.machine_id
            JOIN {schema}.workload w ON w.id = run.workload_id)""",  # noqa: S608
        measured=f"""(SELECT sr.run, sr.step, sr.place, sr.status,
            sr.disturbed IS NOT NULL AS disturbed, v.metric, v.value
            FROM {schema}.step_run sr JOIN {schema}.measurement v ON v.step_run = sr.id)""",  # noqa: S608
        step_runs=f"{schema}.step_run",
        costs=f"""(SELECT sr.run, sr.step, sr.place, v.function, v.self_cost, v.inclusive_cost
            FROM {schema}.step_run sr JOIN {schema}.function_cost v ON v.step_run = sr.id)""",  # noqa: S608
        step=f"{schema}.step",
        metric=f"{schema}.metric",
        function=f"{schema}.function",
        line_revision=LINE_REVISION,
        line_cell=LINE_CELL,
        seconds=seconds,
        element=element,
    )
