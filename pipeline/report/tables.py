"""What the tables of a line are made from: its revisions, and their figures by metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Engine

from pipeline.execute.plan import Line
from pipeline.model import StepStatus, Workload
from pipeline.report.grid import MARK_SIGN, SLA_SIGN
from pipeline.report.relative import Column, Table, absolute_table
from pipeline.store.published import base_of
from pipeline.store.queries import (
    Remark,
    Row,
    RunRow,
    imported_metrics,
    remarks,
    rows,
    runs,
)
from pipeline.units import counted

GROUPS = (
    "point queries",
    "range queries without aggregation",
    "range queries with aggregation",
    "writes",
)
"""The published order of the groups; groups of other families follow in their own order."""


@dataclass(frozen=True)
class Subject:
    """What was measured on a line with one workload, or imported as one.

    ``title`` tells it from the others of its line, ``name`` leaves out the number of clients.
    ``columns`` are the revisions with results. ``base`` is set where values are relative to it
    as they were published. ``metrics`` are those that an imported line has; of a measured one
    they are not known beforehand, and it is empty.
    """

    line: str
    title: str
    name: str
    workload: Workload
    columns: tuple[Column, ...]
    base: Column | None
    metrics: tuple[str, ...]
    remarks: tuple[Remark, ...]
    read: Callable[[Sequence[str]], Iterable[Row]]
    """the measurements in some metrics"""

    def newest(self, count: int) -> Subject:
        """Return it with the first column, which is the usual base, and the newest ones."""
        if len(self.columns) <= count:
            return self
        return replace(self, columns=(self.columns[0], *self.columns[1 - count :]))

    def tables(self, metrics: Sequence[str]) -> dict[str, Table]:
        """Return a table of each metric, without groups where nothing was measured in it."""
        found = list(self.read(metrics))
        return {
            metric: absolute_table(self.title, metric, self.columns, found, GROUPS)
            for metric in metrics
        }

    def table(self, metric: str) -> Table:
        """Return the table of a metric."""
        return self.tables([metric])[metric]

    def in_order(self, steps: Iterable[str]) -> list[str]:
        """Return steps in the order in which the workload has them, whatever their groups."""
        places = {step.name: place for place, step in enumerate(self.workload.steps)}
        return sorted(steps, key=lambda step: places.get(step, len(places)))

    def signs(self, step: str, *labels: str) -> str:
        """Return the signs of the footnotes that figures of these revisions have at a step."""
        met = [found for found in self.remarks if found.step == step and found.revision in labels]
        failed = any(found.status == StepStatus.SLA_FAILED for found in met)
        marked = any(found.marks for found in met)
        return SLA_SIGN * failed + MARK_SIGN * marked

    def notes(self) -> tuple[str, ...]:
        """Return the footnotes: what was remarked of which steps of which revisions."""
        found: dict[tuple[str, str, str], list[str]] = {}
        for remark in self.remarks:
            said = [(MARK_SIGN, mark) for mark in remark.marks]
            if remark.status == StepStatus.SLA_FAILED:
                said.insert(0, (SLA_SIGN, f"SLA failed, {remark.note}"))
            for sign, text in said:
                found.setdefault((sign, remark.step, text), []).append(remark.revision)
        return tuple(
            f"{sign} {step} at {', '.join(dict.fromkeys(labels))}: {text}"
            for (sign, step, text), labels in sorted(found.items(), key=lambda item: item[0][0])
        )


def measured_subjects(store: Engine, line: Line) -> list[Subject]:
    """Return what was measured of a line: its workloads that have results, in their order."""
    found = (
        measured_subject(store, line, workload, machine_class)
        for workload in line.workloads()
        for machine_class in line.classes()
    )
    return [subject for subject in found if subject is not None]


def measured_subject(
    store: Engine, line: Line, workload: Workload, machine_class: str | None = None
) -> Subject | None:
    """Return what was measured of a line with one workload; None while nothing was.

    With a ``machine_class`` it is what machines of that class measured.
    """
    keys = line.keys(workload, machine_class)
    columns = _columns([revision.label for revision in line.revisions], runs(store, cells=keys))
    if not columns:
        return None
    name = f"{line.name}, {workload.name}"
    if len(line.classes()) > 1:
        name = f"{name}, {machine_class}"
    several = [each.name for each in line.workloads()].count(workload.name) > 1
    return Subject(
        line=line.name,
        title=f"{name}, {counted(workload.scale.clients, 'client')}" if several else name,
        name=name,
        workload=workload,
        columns=columns,
        base=None,
        metrics=(),
        remarks=tuple(remarks(store, cells=keys)),
        read=lambda metrics: rows(store, cells=keys, metrics=metrics),
    )


def imported_subject(store: Engine, line: str) -> Subject:
    """Return an imported line."""
    found = sorted(runs(store, line=line), key=lambda run: run.order)
    columns = _columns([run.revision for run in found], found)
    workload = Workload.model_validate(found[0].workload)
    return Subject(
        line=line,
        title=line,
        name=line,
        workload=workload,
        columns=columns,
        base=_published_base(workload, columns),
        metrics=tuple(imported_metrics(store, line)),
        remarks=(),
        read=lambda metrics: rows(store, line=line, metrics=metrics),
    )


def _published_base(workload: Workload, columns: Iterable[Column]) -> Column | None:
    name = base_of(workload)
    if not name:
        return None
    by_name: Mapping[str, Column] = {column.name: column for column in columns}
    return by_name.get(name, Column(label=name, name=name))


def _columns(labels: Sequence[str], found: Sequence[RunRow]) -> tuple[Column, ...]:
    by_label = {run.revision: run for run in found}
    return tuple(
        Column(label=label, name=by_label[label].name, target=by_label[label].target)
        for label in labels
        if label in by_label
    )
