"""Import results of other programs as bundles, to show and search them like measured results."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from pipeline.formats import FORMATS
from pipeline.formats.base import COST, SCORE, FormatError, ImportedValue
from pipeline.model import Step
from pipeline.storage.imported_lines import imported_orders
from pipeline.storage.imported_runs import ImportedRun, ImportedSetup, write_imported
from pipeline.storage.journal import now
from pipeline.storage.published import import_published, read_published
from pipeline.text.errors import UserError, first_line
from pipeline.text.units import plural
from pipeline.use_cases.measuring import MeasuringContext

_LOG = logging.getLogger(__name__)


class ImportedTable(NamedTuple):
    """What was imported: the new bundles, and the number of measurements."""

    line: str
    bundles: list[Path]
    measurements: int


class ImportRequest(NamedTuple):
    """Which files to import; empty fields mean that the files themselves name the value.

    ``lower`` are patterns of steps whose lower values are better, for formats that do not say so.
    """

    files: tuple[Path, ...]
    line: str = ""
    target: str = ""
    machine: str = ""
    revision: str = ""
    lower: tuple[str, ...] = ()


def import_table(
    context: MeasuringContext, file: Path, line: str, target: str, machine: str, metric: str
) -> ImportedTable:
    """Import a table of absolute values, on a line with the file's name by default.

    ``target`` and ``machine``, if given, override the file; ``metric`` is used if the file names
    none. Raises UserError for a file that cannot be read, and for the name of a measured line.
    """
    name = _free_name(context, line or file.stem)
    table = read_published(file, metric)
    # First, in case an import was killed before its bundles were ingested.
    context.ingest()
    written = import_published(
        table,
        line=name,
        target=target,
        machine_class=machine,
        bundles=context.bundles,
        at=now(),
        known=imported_orders(context.store, name),
    )
    return _ingested(context, name, written)


def import_results(context: MeasuringContext, form: str, asked: ImportRequest) -> ImportedTable:
    """Import files of a benchmark program, on a line with the format's name by default.

    The revisions are in the order of the files and, within a file, in the file's order. Raises
    UserError for a file that cannot be read, for a revision that neither a file nor the request
    names, and for the name of a measured line.
    """
    name = _free_name(context, asked.line or form)
    values = [value for file in asked.files for value in _read(form, file)]
    if not values:
        raise UserError(
            f"{', '.join(map(str, asked.files))}: no benchmark result was found; check that the "
            f"format is {form}"
        )
    values = _labelled(values, asked.revision)
    values = [_with_direction(value, asked.lower) for value in values]
    context.ingest()
    setup = ImportedSetup(
        line=name,
        workload=name,
        machine_class=asked.machine or _machine_of(values),
        source=", ".join(file.name for file in asked.files),
    )
    written = write_imported(
        setup,
        _runs(values, asked.target or name),
        context.bundles,
        now(),
        imported_orders(context.store, name),
    )
    return _ingested(context, name, written)


def _free_name(context: MeasuringContext, name: str) -> str:
    """Return the name for an imported line. Raises UserError if a measured line has this name."""
    if name in {section.name for section in context.config.line}:
        raise UserError(
            f"{context.file.path} has a [[line]] {name!r}; choose another name with --line"
        )
    return name


def _ingested(context: MeasuringContext, name: str, written: list[Path]) -> ImportedTable:
    report = context.ingest()
    for refused in report.refused:
        _LOG.warning(str(refused))
    return ImportedTable(name, written, report.measurements)


def _read(form: str, file: Path) -> Sequence[ImportedValue]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file} cannot be read: {first_line(error)}") from error
    try:
        return FORMATS[form].read(text, file)
    except FormatError as error:
        raise UserError(f"{file}: {error}; check that the format is {form}") from error


def _labelled(values: Sequence[ImportedValue], revision: str) -> list[ImportedValue]:
    """Return the imported values, labelled with ``revision`` if it is given.

    Raises UserError if a value has no revision, or if ``revision`` would replace several others.
    """
    named = list(dict.fromkeys(value.revision for value in values))
    if revision:
        if len(named) > 1:
            raise UserError(
                f"the files name {plural(len(named), 'revision')}, so --revision does not apply; "
                "leave it out"
            )
        return [value._replace(revision=revision) for value in values]
    if "" in named:
        raise UserError("the files do not name the revision that was measured; give --revision")
    return list(values)


def _with_direction(value: ImportedValue, lower: Sequence[str]) -> ImportedValue:
    less = value.metric == SCORE and any(fnmatchcase(value.step, each) for each in lower)
    return value._replace(metric=COST) if less else value


def _machine_of(values: Sequence[ImportedValue]) -> str:
    """Return the machine class of imported values. Raises UserError if there are several."""
    names = sorted({value.machine for value in values})
    if len(names) > 1:
        raise UserError(
            f"the files are from {plural(len(names), 'machine')} ({', '.join(names)}); import the "
            "files of each machine separately, each with its own --line"
        )
    return names[0]


def _runs(values: Sequence[ImportedValue], target: str) -> list[ImportedRun]:
    """Return imported values as runs; a second value of a step is another repetition."""
    seen: Counter[tuple[str, str, str]] = Counter()
    by_run: dict[str, dict[int, list[ImportedValue]]] = {}
    for value in values:
        key = (value.revision, value.step, value.metric)
        seen[key] += 1
        by_run.setdefault(value.revision, {}).setdefault(seen[key], []).append(value)
    return [
        _run(own, target, repetition)
        for runs in by_run.values()
        for repetition, own in sorted(runs.items())
    ]


def _run(values: Sequence[ImportedValue], target: str, repetition: int) -> ImportedRun:
    steps: dict[str, Step] = {}
    found: dict[str, dict[str, float]] = {}
    for value in values:
        steps.setdefault(value.step, Step(name=value.step, group=value.group, unit=value.unit))
        found.setdefault(value.step, {})[value.metric] = value.value
    return ImportedRun(
        revision=values[0].revision,
        target=target,
        steps=tuple(steps.values()),
        values=found,
        repetition=repetition,
        made=values[0].made,
        measured_at=values[0].measured_at,
    )
