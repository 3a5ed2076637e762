"""Published tables of absolute values, taken in as if they had been measured elsewhere.

The format is described in results/published/README.md: comment lines ``# key: value``, then
CSV with a row per step and a column per version. A table without comment lines will do too.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline.bundle import bundle_path, read_bundle, write_bundle
from pipeline.errors import UserError
from pipeline.model import (
    METRICS,
    Build,
    Machine,
    Manifest,
    Origin,
    Provenance,
    Revision,
    Scale,
    ServerConfig,
    Step,
    StepRecord,
    StepStatus,
    Workload,
    digest,
)
from pipeline.store.ingest import VALUES_MEMBER

FAMILY = "published"
"""The workload family, build options and configuration of what was measured elsewhere."""

_UNDATED = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class PublishedTable:
    """A table as published: its heading, its steps in order, and a value for each cell."""

    heading: Mapping[str, str]
    steps: tuple[Step, ...]
    versions: tuple[str, ...]
    values: Mapping[str, Mapping[str, Mapping[str, float]]]
    """version -> step -> metric -> value; a cell that is empty in the table is left out"""


def read_published(path: Path, metric: str = "") -> PublishedTable:
    """Read a published table. ``metric`` is that of its values where it does not say.

    Raises UserError, with file and line, for anything that does not fit.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}") from error
    heading = {
        key.strip().lower(): value.strip()
        for key, _, value in (line[1:].partition(":") for line in lines if line.startswith("#"))
    }
    if heading.get("kind") == "relative":
        raise UserError(
            f"{path} holds relative values; only absolute ones can be imported, relative tables "
            "are made from them by `nightshift table`"
        )
    body = [(n, line) for n, line in enumerate(lines, 1) if line and not line.startswith("#")]
    rows = list(csv.reader(line for _, line in body))
    if not rows or rows[0][:1] != ["step"] or len(rows[0]) < 2:
        raise UserError(f"{path}: the first row must be step,[group,][metric,]version,version,...")
    before = [name for name in ("step", "group", "metric") if name in rows[0][:3]]
    versions = tuple(rows[0][len(before) :])
    if not versions or len(set(versions)) < len(versions):
        raise UserError(f"{path}:{body[0][0]}: versions are missing, or one stands twice")
    default_metric = _metric_name(metric or heading.get("metric", "qps"))
    steps: dict[str, Step] = {}
    values: dict[str, dict[str, dict[str, float]]] = {version: {} for version in versions}
    for (number, _), row in zip(body[1:], rows[1:], strict=True):
        if len(row) != len(rows[0]):
            raise UserError(
                f"{path}:{number}: {len(row)} cells where the first row has {len(rows[0])}"
            )
        cells = dict(zip(before, row, strict=False))
        step = cells["step"]
        name = _metric_name(cells.get("metric") or default_metric)
        steps.setdefault(step, Step(name=step, group=cells.get("group", ""), unit=""))
        for version, text in zip(versions, row[len(before) :], strict=True):
            kept = values[version].setdefault(step, {})
            if name in kept:
                raise UserError(f"{path}:{number}: step {step!r} stands twice")
            if text.strip():
                kept[name] = _number(path, number, text)
    return PublishedTable(heading, tuple(steps.values()), versions, values)


def import_published(
    table: PublishedTable, *, line: str, target: str, machine_class: str, bundles: Path
) -> list[Path]:
    """Write one bundle for each version of a table and return those that are new.

    ``line`` names the line that the versions make, in the order of the table. A table that was
    imported already is left as it is. Raises UserError when it was imported under this name
    with other values.
    """
    targets = _targets(table, target)
    written = []
    for place, version in enumerate(table.versions):
        manifest = _manifest(table, place, line, targets[version], machine_class)
        data = json.dumps(table.values[version], sort_keys=True).encode()
        path = bundle_path(bundles, manifest.run_id)
        if path.exists():
            if read_bundle(path).files.get(VALUES_MEMBER) != data:
                raise UserError(
                    f"line {line!r} was imported before with other values for {version}; choose "
                    "another name with --line"
                )
            continue
        written.append(write_bundle(bundles, manifest, {VALUES_MEMBER: data}))
    return written


def _manifest(
    table: PublishedTable, place: int, line: str, target: str, machine_class: str
) -> Manifest:
    version = table.versions[place]
    published_at = _published_at(table.heading.get("source", ""))
    hardware = table.heading.get("machine", "")
    workload = Workload(
        family=FAMILY,
        name=table.heading.get("workload", line),
        version=digest(table.heading)[:12],
        scale=Scale(tables=0, rows=0, clients=0, measure=0, warmup=0),
        steps=table.steps,
    )
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", f"{line}-{version}")
    return Manifest(
        run_id=f"import-{safe}-{digest([line, version])[:8]}",
        origin=Origin.IMPORTED,
        revision=Revision(target=target, version=version, order=(place,), major=""),
        build=Build(
            target=target,
            version=version,
            options=FAMILY,
            hash=digest([table.heading, version]),
            provenance=Provenance(
                source=FAMILY,
                locator=table.heading.get("source", ""),
                sha256="",
                options=FAMILY,
            ),
        ),
        config=ServerConfig(family=FAMILY, name="", text=table.heading.get("config", "")),
        machine=Machine(
            machine_class=machine_class or hardware.partition(";")[0].strip() or "unknown",
            hostname="",
            cpu_model=hardware,
            cores=0,
            memory_bytes=0,
            kernel="",
            operating_system="",
            virtualised="",
            storage="",
        ),
        workload=workload,
        cell_key=digest([line, version, workload.hash]),
        repetition=1,
        started_at=published_at,
        ended_at=published_at,
        steps=tuple(
            StepRecord(
                step=step,
                status=StepStatus.OK if table.values[version][step.name] else StepStatus.FAILED,
                started_at=published_at,
                wall_seconds=0,
                command=(),
                folder="",
                note="" if table.values[version][step.name] else "no value was published",
            )
            for step in table.steps
        ),
        line=line,
        notes=table.heading.get("title", ""),
    )


def _targets(table: PublishedTable, target: str) -> dict[str, str]:
    """Return the target of each version: as told, as the table says, or by its own list."""
    if target:
        return dict.fromkeys(table.versions, target)
    listed = table.heading.get("column-targets")
    if listed is None:
        single = table.heading.get("target")
        if single is None:
            raise UserError("the table does not say which DBMS it is of; give --target")
        return dict.fromkeys(table.versions, single)
    pairs = (entry.partition("=") for entry in listed.split(";"))
    by_version = {version.strip(): of.strip() for version, _, of in pairs}
    missing = [version for version in table.versions if version not in by_version]
    if missing:
        raise UserError(f"column-targets does not name the DBMS of {missing[0]}")
    return by_version


def _metric_name(name: str) -> str:
    known = {metric.lower(): metric for metric in METRICS}
    return known.get(name.lower(), name)


def _number(path: Path, line: int, text: str) -> float:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"{path}:{line}: {text!r} is not a number")
    return value


def _published_at(source: str) -> datetime:
    found: Sequence[str] = re.findall(r"\b(\d{4}-\d{2}-\d{2})\b", source)
    return datetime.fromisoformat(found[-1]).replace(tzinfo=UTC) if found else _UNDATED
