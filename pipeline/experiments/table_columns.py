"""The chosen columns of a table of results, and the cells that each column needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.config import ConfigFile, TableSetup
from pipeline.experiments.revision_spec import cell_with, find_subject, parse_subject
from pipeline.measure.plan import Line, Plan, check_workloads, workloads_at
from pipeline.model import Cell, Machine
from pipeline.text.errors import UserError
from pipeline.workloads import find_family


class ChosenColumn(NamedTuple):
    """A column of a table as the user chose it, with the cells to measure for it."""

    label: str
    cells: tuple[Cell, ...]


def chosen_columns(
    file: ConfigFile,
    table: TableSetup,
    machines: Sequence[Machine],
    quick: bool,
    cache: Path,
    results: Path,
) -> tuple[ChosenColumn, ...]:
    """Return the chosen columns of a table, with the cells to measure for each.

    A workload has no cell in a column whose DBMS it does not run on. Raises UserError for an
    unknown revision or configuration, and if no workload runs on a column.
    """
    check_workloads(file)
    sections = [
        (index, section)
        for index, section in enumerate(file.config.workload)
        if section.name in (table.workloads or (section.name,))
    ]
    if not sections:
        raise UserError(f"{file.path} has no [[workload]], so a table has no rows; add one")
    columns = []
    for text in table.columns:
        subject = parse_subject(text)
        fitting = [
            (index, section)
            for index, section in sections
            if subject.target in find_family(section.family).targets
        ]
        if not fitting:
            names = ", ".join(section.name for _, section in sections)
            raise UserError(
                f"{text}: none of the workloads {names} runs on {subject.target}; add a "
                "[[workload]] of a family that does"
            )
        found = find_subject(subject, cache, results, file)
        cells = (
            cell_with(subject, found, file, section, workload, machine)
            for index, section in fitting
            for workload in workloads_at(file, index, quick)
            for machine in machines
        )
        columns.append(ChosenColumn(text, tuple(cells)))
    return tuple(columns)


def plan_of_table(name: str, columns: Iterable[ChosenColumn], repetitions: int) -> Plan:
    """Return a plan that measures the columns of a table; the table is its only line."""
    cells = {cell.key: cell for column in columns for cell in column.cells}
    revisions = dict.fromkeys(cell.revision for cell in cells.values())
    targets = dict.fromkeys(revision.target for revision in revisions)
    line = Line(
        name=name,
        target=" ".join(targets),
        revisions=tuple(revisions),
        cells=tuple(cells.values()),
    )
    return Plan(lines=(line,), repetitions=repetitions)
