"""Import tables that somebody else published, as results that were measured elsewhere.

results/published/README.md describes the format: comment lines ``# key: value``, then CSV (or TSV)
with a row per step and a column per version. Comment lines are optional. Relative values stay
relative; the name of their base version is an option of the workload.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from pipeline.model import Step, Workload
from pipeline.model.metrics import METRICS
from pipeline.storage.imported_runs import (
    BASE,
    ImportedRun,
    ImportedSetup,
    Order,
    write_imported,
)
from pipeline.text.errors import UserError, first_line

_BEFORE = ("step", "group", "metric")
"""The columns that may precede the columns of the versions, in this order."""


@dataclass(frozen=True)
class PublishedTable:
    """A published table: its heading, its steps in order, and the value of each cell.

    ``base`` is the base version of relative values; empty for a table of absolute values.
    """

    heading: Mapping[str, str]
    steps: tuple[Step, ...]
    versions: tuple[str, ...]
    values: Mapping[str, Mapping[str, Mapping[str, float]]]
    """The values by version, then step, then metric; empty cells of the table are left out."""
    base: str = ""


def base_of(workload: Workload) -> str:
    """Return the base revision of an imported table's relative values; empty if it has none."""
    return str(workload.options.get(BASE, ""))


def read_published(path: Path, metric: str = "") -> PublishedTable:
    """Read a published table. ``metric`` names its values if the table itself does not.

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
    """Return the rows of a CSV file, each with the number of the line on which it begins."""
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
    """Write one bundle for each version in a published table; return the paths of new bundles.

    ``line`` is the name of the line of the versions, ``known`` has the sort keys of those already
    on it, and ``at`` is the time of a table without a date. Raises UserError as
    :func:`write_imported` does.
    """
    targets = _targets(table, target)
    heading = table.heading
    hardware = heading.get("machine", "")
    setup = ImportedSetup(
        line=line,
        workload=heading.get("workload", line),
        machine_class=machine_class or hardware.partition(";")[0].strip(),
        hardware=hardware,
        config=heading.get("config", ""),
        source=heading.get("source", ""),
        title=heading.get("title", ""),
        base=table.base,
    )
    runs = [
        ImportedRun(version, targets[version], table.steps, table.values[version])
        for version in table.versions
    ]
    published_at = _published_at(heading.get("source", ""))
    return write_imported(setup, runs, bundles, published_at or at, known)


def _targets(table: PublishedTable, target: str) -> dict[str, str]:
    """Return the DBMS of each version in a table: ``target`` if given, else as the table says."""
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
        raise UserError(
            f"the line `# column-targets:` does not name the DBMS of {missing[0]}; add it"
        )
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
