"""Import published tables as results that were measured elsewhere.

results/published/README.md describes the format: comment lines ``# key: value``, then CSV (or TSV)
with a row per step and a column per version. Comment lines are optional. Relative values stay
relative; the workload has the name of their base version.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

from pipeline.model import (
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
from pipeline.model.metrics import METRICS
from pipeline.storage.bundle import VALUES_MEMBER, bundle_path, read_bundle, write_bundle
from pipeline.text.errors import UserError, first_line

FAMILY = "published"
"""The workload family, build options and configuration of imported results."""

_BASE = "base"
"""The workload's option that names the base of relative values."""

_BEFORE = ("step", "group", "metric")
"""The columns that may precede those of the versions, in this order."""

Order = tuple[int, ...]
"""The place of an imported revision on its line, as :class:`pipeline.model.Revision` has it."""


@dataclass(frozen=True)
class PublishedTable:
    """A published table: its heading, its steps in order, and a value for each cell.

    ``base`` is the base of relative values; empty for a table of absolute ones.
    """

    heading: Mapping[str, str]
    steps: tuple[Step, ...]
    versions: tuple[str, ...]
    values: Mapping[str, Mapping[str, Mapping[str, float]]]
    """version -> step -> metric -> value; empty cells of the table are left out"""
    base: str = ""


def base_of(workload: Workload) -> str:
    """Return the base of an imported workload's relative values; empty for absolute ones."""
    return str(workload.options.get(_BASE, ""))


def read_published(path: Path, metric: str = "") -> PublishedTable:
    """Read a published table. ``metric`` is the metric of its values, if the table has none.

    Raises UserError, with file and line, for invalid content.
    """
    try:
        # With or without a byte order mark, which spreadsheets write.
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {first_line(error)}") from error
    heading = {
        key.strip().lower(): value.strip()
        for key, _, value in (
            line[1:].partition(":") for line in text.splitlines() if line.startswith("#")
        )
    }
    base = heading.get("base", "") if heading.get("kind") == "relative" else ""
    if heading.get("kind") == "relative" and not base:
        raise UserError(
            f"{path} holds relative values but does not name their base; add a line `# base: "
            "VERSION`"
        )
    (top, names), *body = _rows(path, text)
    before = [name for place, name in enumerate(_BEFORE) if name in names[: place + 1]]
    versions = tuple(names[len(before) :])
    if names[: len(before)] != before or before[:1] != ["step"]:
        raise UserError(
            f"{path}:{top}: the first row must be step,[group,][metric,]version,version,..."
        )
    if not all(versions) or not versions or len(set(versions)) < len(versions):
        raise UserError(
            f"{path}:{top}: a version is missing or appears twice; correct the first row"
        )
    if not body:
        raise UserError(f"{path}:{top}: the first row is the only one; add a row for each step")
    default_metric = _metric_name(metric or heading.get("metric", "qps"))
    steps: dict[str, Step] = {}
    values: dict[str, dict[str, dict[str, float]]] = {version: {} for version in versions}
    for number, row in body:
        if len(row) != len(names):
            raise UserError(
                f"{path}:{number}: {len(row)} cells where the first row has {len(names)}"
            )
        cells = dict(zip(before, row, strict=False))
        step = cells["step"]
        if not step:
            raise UserError(f"{path}:{number}: the step has no name")
        name = _metric_name(cells.get("metric") or default_metric)
        steps.setdefault(step, Step(name=step, group=cells.get("group", ""), unit=""))
        for version, cell in zip(versions, row[len(before) :], strict=True):
            kept = values[version].setdefault(step, {})
            if name in kept:
                raise UserError(f"{path}:{number}: step {step!r} appears twice; remove one")
            if cell.strip():
                kept[name] = _number(path, number, cell)
    return PublishedTable(heading, tuple(steps.values()), versions, values, base)


def _rows(path: Path, text: str) -> list[tuple[int, list[str]]]:
    """Return the rows of the CSV, at least one, each with the line that it begins on."""
    # Comments become empty lines, so that the reader's line numbers match the file.
    lines = ("\n" if line.startswith("#") else line for line in io.StringIO(text))
    heads = next((line for line in text.splitlines() if line.strip() and line[0] != "#"), "")
    reader = csv.reader(lines, strict=True, delimiter="\t" if "\t" in heads else ",")
    found, begins = [], 1
    try:
        for row in reader:
            if any(row):
                found.append((begins, row))
            begins = reader.line_num + 1
    except csv.Error as error:
        raise UserError(f"{path}:{begins}: not valid CSV: {error}") from error
    if not found:
        raise UserError(
            f"{path} is empty; it needs a row for each step and a column for each version"
        )
    return found


def import_published(
    table: PublishedTable,
    *,
    line: str,
    target: str,
    machine_class: str,
    bundles: Path,
    at: datetime,
    known: Mapping[str, Order] = MappingProxyType({}),
) -> list[Path]:
    """Write one bundle for each version of a table and return the new ones.

    ``line`` names the line of the versions, ``known`` has the versions that it has already; the
    others take their places as the table orders them. ``at`` is the time of a table without a date.
    A version that was already imported is skipped. Raises UserError if it was imported under this
    name with other values.
    """
    targets = _targets(table, target)
    orders = orders_of(table.versions, known)
    began = _published_at(table.heading.get("source", "")) or at
    fresh: list[tuple[Manifest, bytes]] = []
    for place, version in enumerate(table.versions):
        # Seconds apart, so that the order of time is that of the versions.
        measured_at = began + timedelta(seconds=place)
        manifest = _manifest(
            table, version, line, targets[version], machine_class, orders[version], measured_at
        )
        data = json.dumps(table.values[version], sort_keys=True).encode()
        path = bundle_path(bundles, manifest.run_id)
        if not path.exists():
            fresh.append((manifest, data))
        elif read_bundle(path).files.get(VALUES_MEMBER) != data:
            raise UserError(
                f"line {line!r} was imported before with other values for {version}; choose "
                "another name with --line"
            )
    return [write_bundle(bundles, manifest, {VALUES_MEMBER: data}) for manifest, data in fresh]


def orders_of(labels: Sequence[str], known: Mapping[str, Order]) -> dict[str, Order]:
    """Return the order of each label of a table: that on its line, or one beside its neighbour.

    New labels come directly after the known one before them, else directly before the known one
    after them, else at the end of the line.
    """
    found = {label: known[label] for label in labels if label in known}
    line = sorted(known.values())
    places = [place for place, label in enumerate(labels) if label in known]
    for begin, end in pairwise([-1, *places, len(labels)]):
        if begin >= 0:
            at = line.index(known[labels[begin]]) + 1
        else:
            at = line.index(known[labels[end]]) if end < len(labels) else len(line)
        fresh = labels[begin + 1 : end]
        found |= zip(fresh, _between(line[:at], line[at:], len(fresh)), strict=True)
    return found


def _between(before: Sequence[Order], after: Sequence[Order], count: int) -> list[Order]:
    """Return orders after those before and before those after."""
    if not after:
        start, stem = (before[-1][0] + 1 if before else 0), Order()
    elif not before:
        start, stem = after[0][0] - count, Order()
    else:
        stem, follower = before[-1], after[0]
        # An order that begins with another one comes after it.
        longer = len(follower) > len(stem) and follower[: len(stem)] == stem
        start = follower[len(stem)] - count if longer else 1
    return [(*stem, start + number) for number in range(count)]


def _manifest(
    table: PublishedTable,
    version: str,
    line: str,
    target: str,
    machine_class: str,
    order: Order,
    measured_at: datetime,
) -> Manifest:
    hardware = table.heading.get("machine", "")
    workload = Workload(
        family=FAMILY,
        name=table.heading.get("workload", line),
        version="",
        scale=Scale(tables=0, rows=0, clients=0, measure=0, warmup=0),
        # None: a line whose tables differ in their steps has one workload.
        steps=(),
        options={_BASE: table.base} if table.base else {},
    )
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", f"{line}-{version}")
    return Manifest(
        run_id=f"import-{safe}-{digest([line, version])[:8]}",
        origin=Origin.IMPORTED,
        revision=Revision(target=target, version=version, order=order, major=""),
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
        started_at=measured_at,
        ended_at=measured_at,
        steps=tuple(
            StepRecord(
                step=step,
                status=StepStatus.OK if table.values[version][step.name] else StepStatus.FAILED,
                started_at=measured_at,
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
    """Return the target of each version: the argument, or the table's single or listed targets."""
    if target:
        return dict.fromkeys(table.versions, target)
    listed = table.heading.get("column-targets")
    if listed is None:
        single = table.heading.get("target")
        if single is None:
            raise UserError("the table does not name its DBMS; give --target")
        return dict.fromkeys(table.versions, single)
    pairs = (entry.partition("=") for entry in listed.split(";"))
    by_version = {version.strip(): of.strip() for version, _, of in pairs}
    missing = [version for version in table.versions if version not in by_version]
    if missing:
        raise UserError(f"column-targets does not name the DBMS of {missing[0]}; add it")
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


def _published_at(source: str) -> datetime | None:
    found: Sequence[str] = re.findall(r"\b(\d{4}-\d{2}-\d{2})\b", source)
    return datetime.fromisoformat(found[-1]).replace(tzinfo=UTC) if found else None
