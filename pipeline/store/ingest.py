"""From bundles to rows. A bundle is taken whole, in one transaction, once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Table, insert, select
from sqlalchemy.exc import DBAPIError

from pipeline.bundle import SUFFIX, Bundle, BundleError, DamagedBundleError, read_bundle
from pipeline.errors import UserError, first_line
from pipeline.model import Manifest, Origin, StepRecord, StepStatus, digest
from pipeline.probes.base import load_samples
from pipeline.store import schema
from pipeline.store.derive import measurements
from pipeline.workloads import find_family

SETTINGS_MEMBER = "settings.json"
VALUES_MEMBER = "values.json"
"""Members of a bundle that are not under a step's folder. Imported bundles have values."""

_BATCH = 50
"""Bundles per transaction: few enough to lose nothing worth a word when killed."""


@dataclass
class IngestReport:
    """What an ingest did: runs taken, runs known already, and bundles that were refused."""

    taken: int = 0
    known: int = 0
    measurements: int = 0
    refused: list[BundleError] = field(default_factory=list)


def ingest(
    engine: Engine, paths: Iterable[Path], progress: Callable[[], None] = lambda: None
) -> IngestReport:
    """Take every bundle that the store does not have yet.

    Damaged and newer bundles are refused, one by one, and do not stop the others. Calls
    ``progress`` once a bundle. Raises UserError when the database fails.
    """
    report = IngestReport()
    try:
        with engine.connect() as connection:
            writer = _Writer(connection)
            for count, path in enumerate(paths, start=1):
                _take(writer, path, report)
                progress()
                if count % _BATCH == 0:
                    connection.commit()
            connection.commit()
    except DBAPIError as error:
        raise UserError(
            f"the store failed while taking bundles ({first_line(error.orig or error)}); nothing "
            "measured is lost, mend it and run `nightshift ingest` again"
        ) from error
    return report


def _take(writer: _Writer, path: Path, report: IngestReport) -> None:
    if writer.knows(path):
        report.known += 1
        return
    try:
        bundle = read_bundle(path)
        steps = list(_step_values(bundle))
    except BundleError as error:
        report.refused.append(error)
        return
    except (ValueError, KeyError) as error:
        report.refused.append(
            DamagedBundleError(path, f"cannot be understood: {first_line(error)}")
        )
        return
    report.measurements += writer.write(bundle, steps)
    report.taken += 1


@dataclass(frozen=True)
class _StepValues:
    record: StepRecord
    status: StepStatus
    note: str
    values: Mapping[str, float]
    timeline: list[list[float | None]]


def _step_values(bundle: Bundle) -> Iterable[_StepValues]:
    manifest = bundle.manifest
    if manifest.origin is Origin.IMPORTED:
        published = json.loads(bundle.files[VALUES_MEMBER])
        for record in manifest.steps:
            yield _StepValues(record, record.status, record.note, published[record.step.name], [])
        return
    family = find_family(manifest.workload.family)
    for record in manifest.steps:
        if record.status is not StepStatus.OK:
            yield _StepValues(record, record.status, record.note, {}, [])
            continue
        text = bundle.files[f"{record.folder}/stdout.txt"].decode(errors="replace")
        try:
            output = family.parse(record.step, manifest.workload, text)
        except ValueError as error:
            yield _StepValues(record, StepStatus.FAILED, first_line(error), {}, [])
            continue
        samples = list(load_samples(bundle.files.get(f"{record.folder}/samples.jsonl", b"")))
        yield _StepValues(
            record,
            StepStatus.OK,
            record.note,
            measurements(output, samples, record.database_bytes),
            [[p.at, p.ops_per_second, p.latency_ms] for p in output.timeline],
        )


class _Writer:
    """Writes bundles as rows on one connection, remembering the ids it has met."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ids: dict[tuple[str, str], int] = {}
        rows = connection.execute(select(schema.run.c.run_id))
        self._runs = {str(row.run_id) for row in rows}

    def knows(self, path: Path) -> bool:
        return path.name.removesuffix(SUFFIX) in self._runs

    def write(self, bundle: Bundle, steps: Sequence[_StepValues]) -> int:
        """Write one bundle and return how many measurements that was."""
        run = self._write_run(bundle)
        if not steps:
            return 0
        # One statement for all steps; their ids come back in the order of the rows.
        written = self._connection.execute(
            insert(schema.step_run).returning(schema.step_run.c.id, sort_by_parameter_order=True),
            [
                {
                    "run": run,
                    "step": self._step_id(step.record),
                    "place": place,
                    "status": step.status.value,
                    "note": step.note,
                    "timeline": step.timeline,
                }
                for place, step in enumerate(steps)
            ],
        ).scalars()
        rows = [
            {"step_run": step_run, "metric": self._metric_id(name), "value": value}
            for step_run, step in zip(written, steps, strict=True)
            for name, value in step.values.items()
        ]
        if rows:
            self._connection.execute(insert(schema.measurement), rows)
        self._runs.add(bundle.manifest.run_id)
        return len(rows)

    def _write_run(self, bundle: Bundle) -> int:
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
                "started_at": head.started_at,
                "ended_at": head.ended_at,
                **self._shared_ids(head),
                "settings_id": self._settings_id(bundle),
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
                    "definition": workload.model_dump(mode="json"),
                },
            ),
        }

    def _settings_id(self, bundle: Bundle) -> int | None:
        raw = bundle.files.get(SETTINGS_MEMBER)
        if raw is None:
            return None
        variables = json.loads(raw)
        return self._shared(schema.settings, digest(variables), {"variables": variables})

    def _step_id(self, record: StepRecord) -> int:
        row = record.step.model_dump()
        return self._identified(schema.step, digest(row), row, match=row)

    def _metric_id(self, name: str) -> int:
        return self._identified(schema.metric, name, {"name": name}, match={"name": name})

    def _shared(self, table: Table, key: str, row: Mapping[str, Any]) -> int:
        return self._identified(table, key, {"hash": key, **row}, match={"hash": key})

    def _identified(
        self, table: Table, key: str, row: Mapping[str, Any], match: Mapping[str, Any]
    ) -> int:
        """Return the id of the row that matches, inserting it when there is none."""
        if (table.name, key) not in self._ids:
            wanted = select(table.c.id).where(*(table.c[name] == match[name] for name in match))
            found = self._connection.execute(wanted).scalar()
            self._ids[table.name, key] = self._insert(table, row) if found is None else int(found)
        return self._ids[table.name, key]

    def _insert(self, table: Table, row: Mapping[str, Any]) -> int:
        added = insert(table).values(**row).returning(table.c.id)
        return int(self._connection.execute(added).scalar_one())
