"""What tables are made of: the revisions of a line, and their values by metric."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Engine

from pipeline.experiments.table_columns import ChosenColumn
from pipeline.machine.pinning import show_pinning
from pipeline.measure.plan import LONG, NEWEST, Line
from pipeline.model import Cell, Pinning, StepStatus, Workload
from pipeline.report.grid import MARK_SIGN, SLA_SIGN
from pipeline.report.relative import Column, Table, absolute_table
from pipeline.storage.measurements import MeasurementRow, rows
from pipeline.storage.published import base_of
from pipeline.storage.runs import RunRow, runs
from pipeline.storage.steps import StepRemark, remarks
from pipeline.text.units import plural

GROUPS = (
    "load",
    "range queries",
    "point queries",
    "range queries without aggregation",
    "range queries with aggregation",
    "writes",
)
"""The published order of the groups: first those of db_bench, then those of sysbench. Groups of
other families follow in their own order."""


@dataclass(frozen=True)
class MeasuredSubject:
    """The results of a line with one workload, measured here or imported.

    ``title`` distinguishes it from the line's other subjects; ``name`` omits the number of clients.
    ``columns`` are the revisions with results. ``base`` is set if values were published relative to
    it. ``metrics`` are those of an imported line; for a measured line they are not known
    beforehand, and ``metrics`` is empty.
    """

    line: str
    title: str
    name: str
    workload: Workload
    columns: tuple[Column, ...]
    base: Column | None
    metrics: tuple[str, ...]
    remarks: tuple[StepRemark, ...]
    read: Callable[[Sequence[str]], Iterable[MeasurementRow]]
    """returns the measurements of the given metrics"""
    groups: tuple[str, ...] = GROUPS
    """the order of the groups; others follow"""
    caveats: tuple[str, ...] = ()
    """why columns are not fully comparable"""

    def tables(self, metrics: Sequence[str]) -> dict[str, Table]:
        """Return a table of each metric that has values."""
        found = list(self.read(metrics))
        return {
            metric: absolute_table(self.title, metric, self.columns, found, self.groups)
            for metric in metrics
        }

    def table(self, metric: str) -> Table:
        """Return the table of one metric."""
        return self.tables([metric])[metric]

    def in_order(self, steps: Iterable[str]) -> list[str]:
        """Return the steps of the results in the order in which the workload runs them."""
        places = {step.name: place for place, step in enumerate(self.workload.steps)}
        return sorted(steps, key=lambda step: places.get(step, len(places)))

    def signs(self, step: str, *labels: str) -> str:
        """Return the footnote signs of a step's values at some revisions."""
        met = [found for found in self.remarks if found.step == step and found.revision in labels]
        failed = any(found.status == StepStatus.SLA_FAILED for found in met)
        marked = any(found.marks for found in met)
        return SLA_SIGN * failed + MARK_SIGN * marked

    def notes(self) -> tuple[str, ...]:
        """Return the footnotes: remarks on steps (equal ones combined), and caveats."""
        at: dict[tuple[str, str, str], list[str]] = {}
        for remark in self.remarks:
            footnotes = [(MARK_SIGN, mark) for mark in remark.marks]
            if remark.status == StepStatus.SLA_FAILED:
                footnotes.insert(0, (SLA_SIGN, f"SLA failed, {remark.note}"))
            for sign, text in footnotes:
                at.setdefault((sign, text, remark.step), []).append(remark.revision)
        together: dict[tuple[str, str, str], list[str]] = {}
        for (sign, text, step), labels in at.items():
            where = ", ".join(dict.fromkeys(labels))
            together.setdefault((sign, text, where), []).append(step)
        footnotes_of_steps = (
            f"{sign} {self._steps_in_words(steps)} at {where}: {text}"
            for (sign, text, where), steps in sorted(together.items(), key=lambda item: item[0][0])
        )
        return (*footnotes_of_steps, *self.caveats)

    def _steps_in_words(self, steps: Sequence[str]) -> str:
        if 1 < len(steps) == len(self.workload.steps):
            return "every step"
        return ", ".join(steps)


def newest_revisions(
    line: Line,
    measured: Container[tuple[str, str]],
    newest: int = NEWEST,
    long: int = LONG,
    base: str = "",
) -> tuple[Line, int]:
    """Return a line with only its first, its base and its newest measured revisions.

    ``measured`` has (target, label) of every measured revision. A line of at most ``long`` measured
    revisions is returned whole. Also returned is the number of revisions that are left out. The
    first revision is kept as the usual base of a table.
    """
    found = [label for label in line.positions if line.imported or (line.target, label) in measured]
    if len(found) <= long:
        return line, 0
    shown = {found[0], *found[-newest:], *({base} & set(found))}
    return line.only(shown), len(found) - len(shown)


def measured_subjects(store: Engine, line: Line) -> list[MeasuredSubject]:
    """Return the results of a line, one for each workload, in order."""
    found = (
        measured_subject(store, line, workload, machine_class)
        for workload in line.workloads()
        for machine_class in line.classes()
    )
    return [subject for subject in found if subject is not None]


def measured_subject(
    store: Engine, line: Line, workload: Workload, machine_class: str | None = None
) -> MeasuredSubject | None:
    """Return the results of a line with one workload; None if there are none.

    ``machine_class`` limits the results to machines of that class.
    """
    keys = line.keys(workload, machine_class)
    columns = _columns([revision.label for revision in line.revisions], runs(store, cells=keys))
    if not columns:
        return None
    name = line.name if line.imported else f"{line.name}, {workload.name}"
    if len(line.classes()) > 1:
        name = f"{name}, {machine_class}"
    several = [each.name for each in line.workloads()].count(workload.name) > 1
    return MeasuredSubject(
        line=line.name,
        title=f"{name}, {plural(workload.scale.clients, 'client')}" if several else name,
        name=name,
        workload=workload,
        columns=columns,
        base=_published_base(workload, columns),
        metrics=line.metrics,
        remarks=tuple(remarks(store, cells=keys)),
        read=lambda metrics: rows(store, cells=keys, metrics=metrics),
    )


def chosen_subjects(
    store: Engine, name: str, columns: Sequence[ChosenColumn], groups: Sequence[str] = ()
) -> list[MeasuredSubject]:
    """Return the results of a table's chosen columns, one subject for each workload.

    ``groups`` are the groups of steps to show, in this order; by default all.
    """
    cells = [cell for column in columns for cell in column.cells]
    setups = dict.fromkeys((cell.workload.hash, cell.machine_class) for cell in cells)
    several_classes = len({cell.machine_class for cell in cells}) > 1
    found = []
    for workload_hash, machine_class in setups:
        by_label = {
            column.label: cell
            for column in columns
            for cell in column.cells
            if (cell.workload.hash, cell.machine_class) == (workload_hash, machine_class)
        }
        title = f"{name}, {machine_class}" if several_classes else name
        subject = _chosen_subject(store, title, by_label, groups)
        if subject is not None:
            found.append(subject)
    return _distinct(found)


def _chosen_subject(
    store: Engine, name: str, by_label: Mapping[str, Cell], groups: Sequence[str]
) -> MeasuredSubject | None:
    """Return the results of one cell for each column; None without results."""
    measured = {
        label: last[-1]
        for label, cell in by_label.items()
        if (last := runs(store, cells=[cell.key]))
    }
    if not measured:
        return None
    columns = tuple(
        Column(label=label, name=last.name, target=last.target) for label, last in measured.items()
    )
    workload = next(iter(by_label.values())).workload
    named = f"{name}, {workload.name}"
    shown = {step.name for step in workload.steps if step.group in groups}

    def read(metrics: Sequence[str]) -> Iterable[MeasurementRow]:
        for label in measured:
            for row in rows(store, cells=[by_label[label].key], metrics=metrics):
                if not groups or row.group in groups:
                    yield row._replace(revision=label)

    return MeasuredSubject(
        line=name,
        title=named,
        name=named,
        workload=workload,
        columns=columns,
        base=None,
        metrics=(),
        remarks=tuple(
            remark._replace(revision=label)
            for label in measured
            for remark in remarks(store, cells=[by_label[label].key])
            if not groups or remark.step in shown
        ),
        read=read,
        groups=tuple(groups) or GROUPS,
        caveats=_placed_otherwise(measured),
    )


def _distinct(subjects: Sequence[MeasuredSubject]) -> list[MeasuredSubject]:
    """Return the subjects; where names are equal, titles include the number of clients."""
    names = [subject.name for subject in subjects]
    return [
        replace(
            subject,
            title=f"{subject.name}, {plural(subject.workload.scale.clients, 'client')}",
        )
        if names.count(subject.name) > 1
        else subject
        for subject in subjects
    ]


def _placed_otherwise(measured: Mapping[str, RunRow]) -> tuple[str, ...]:
    """Return a footnote for each column that ran on other cores than the first one."""
    first, *others = measured.items()
    return tuple(
        f"{label} ran on other cores than {first[0]}: {_cores(last)}, not {_cores(first[1])}"
        for label, last in others
        if _measured_on(last) != _measured_on(first[1])
    )


def _measured_on(row: RunRow) -> tuple[Sequence[int], Sequence[int]]:
    """Return the processors that serve clients, and those of the load generator.

    The processors for background work are not compared, because the configuration decides how many
    there are.
    """
    return row.pinning.get("server", ()), row.pinning.get("client", ())


def _cores(row: RunRow) -> str:
    return show_pinning(Pinning.model_validate(row.pinning))


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
