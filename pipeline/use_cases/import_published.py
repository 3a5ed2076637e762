"""Import published tables as bundles."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from pipeline.storage.imported_lines import imported_orders
from pipeline.storage.journal import now
from pipeline.storage.published import import_published, read_published
from pipeline.text.errors import UserError
from pipeline.use_cases.measuring import MeasuringContext

_LOG = logging.getLogger(__name__)


class ImportedTable(NamedTuple):
    """An imported table: the bundles of its line, and the number of added measurements."""

    line: str
    bundles: list[Path]
    measurements: int


def import_table(
    context: MeasuringContext, file: Path, line: str, target: str, machine: str, metric: str
) -> ImportedTable:
    """Import a table of absolute values, and ingest it; by default the line has the file's name.

    Target, machine class and metric are used if the file does not name them. Raises UserError for a
    file that cannot be read, and for the name of a line that is measured.
    """
    name = line or file.stem
    if name in {section.name for section in context.config.line}:
        raise UserError(
            f"{context.file.path} has a [[line]] {name!r}; choose another name with --line"
        )
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
    report = context.ingest()
    for refused in report.refused:
        _LOG.warning(str(refused))
    return ImportedTable(name, written, report.measurements)
