"""The lines of the page: relative tables, and for every step a chart and a table beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.config import ReportSection
from pipeline.model import Regression, Shift
from pipeline.report.page.charts import Charts, medians
from pipeline.report.page.data import TABLE_METRICS, THROUGHPUT, LineData, Setup, SetupData, StepData
from pipeline.report.page.wording import (
    Anchors,
    counted,
    figure,
    help_of,
    percent,
    unit_of,
)
from pipeline.report.relative import Column, absolute_table, relative_to
from pipeline.report.render import BETTER, WORSE, colour_of

Tone = Literal["", "worse", "better", "failed"]
_TONES: Mapping[str, Tone] = {WORSE: "worse", BETTER: "better"}


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: its text, what it means, and what is said on pointing at it."""

    text: str
    tone: Tone = ""
    title: str = ""
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Ratios:
    """One step of a relative table."""

    step: str
    anchor: str
    base: Cell
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class RelativeView:
    """A relative table by group. ``unit`` is that of the base's absolute values."""

    metric: str
    help: str
    unit: str
    base: str
    columns: tuple[Column, ...]
    groups: tuple[tuple[str, tuple[Ratios, ...]], ...]


@dataclass(frozen=True, slots=True)
class RevisionRow:
    """One revision of a step's table: how many repetitions, then a cell for each metric."""

    position: int
    revision: str
    base: bool
    runs: Cell
    relative: Cell
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class MetricHead:
    """The head of a metric's column."""

    name: str
    short: str
    unit: str
    help: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A change point, as it is named beside a step's heading."""

    text: str
    worse: bool


@dataclass(frozen=True, slots=True)
class StepView:
    """The section of one step."""

    anchor: str
    name: str
    group: str
    unit: str
    heads: tuple[MetricHead, ...]
    rows: tuple[RevisionRow, ...]
    zero: tuple[str, ...]
    marks: tuple[Mark, ...]
    failed: int
    measured: bool


@dataclass(frozen=True, slots=True)
class SetupView:
    """What was measured on a line with one setup."""

    anchor: str
    title: str
    seconds: str
    base: str
    tables: tuple[RelativeView, ...]
    steps: tuple[StepView, ...]


@dataclass(frozen=True, slots=True)
class LineView:
    """A line."""

    anchor: str
    name: str
    target: str
    revisions: tuple[str, ...]
    unmeasured: tuple[str, ...]
    setups: tuple[SetupView, ...]


def name_places(lines: Sequence[LineData], anchors: Anchors) -> dict[tuple[str, Setup, str], str]:
    """Give every step of every line and setup its anchor."""
    return {
        (line.line.name, part.setup, step.step.name): anchors.new(line.line.name, step.step.name)
        for line in lines
        for part in line.setups
        for step in part.steps
    }


def view_lines(
    lines: Sequence[LineData],
    regressions: Sequence[Regression],
    places: Mapping[tuple[str, Setup, str], str],
    anchors: Anchors,
    settings: ReportSection,
    charts: Charts,
) -> list[LineView]:
    """Return what the page shows of the lines, and add a chart for every step."""
    shifts: dict[tuple[str, Setup, str], list[Shift]] = {}
    for regression in regressions:
        for shift in regression.shifts:
            key = (regression.line, Setup.of(shift.series), shift.series.step)
            shifts.setdefault(key, []).append(shift)
    views = []
    for number, line in enumerate(lines):
        setups = []
        met: set[str] = set()
        for part in line.setups:
            measured = part.measured(line.labels)
            met.update(measured)
            base = measured[0]
            steps = []
            for step in part.steps:
                key = (line.line.name, part.setup, step.step.name)
                found = sorted(shifts.get(key, ()), key=lambda shift: shift.position)
                charts.add(places[key], number, step, found, line.labels.index(base))
                steps.append(_step(places[key], step, found, line.labels, measured, settings))
            setups.append(
                SetupView(
                    anchor=anchors.new(line.line.name, part.setup.workload),
                    title=_title(part.setup),
                    seconds=_seconds(part),
                    base=base,
                    tables=tuple(
                        view
                        for metric in TABLE_METRICS
                        if (view := _relative(line, part, metric, measured, places, settings))
                    ),
                    steps=tuple(steps),
                )
            )
        views.append(
            LineView(
                anchor=anchors.new("line", line.line.name),
                name=line.line.name,
                target=line.line.target,
                revisions=tuple(line.labels),
                unmeasured=tuple(label for label in line.labels if label not in met),
                setups=tuple(setups),
            )
        )
    return views


def _title(setup: Setup) -> str:
    return (
        f"{setup.workload}, {counted(setup.clients, 'client')}, config {setup.config}, "
        f"{setup.build_options} build, {setup.machine_class}"
    )


def _seconds(part: SetupData) -> str:
    scale = part.runs[0].workload["scale"]
    return (
        f"{counted(scale['tables'], 'table')} of {counted(scale['rows'], 'row')}; each step is "
        f"measured for {scale['measure']:g} s after {scale['warmup']:g} s of warm-up"
    )


def _relative(
    line: LineData,
    part: SetupData,
    metric: str,
    measured: Sequence[str],
    places: Mapping[tuple[str, Setup, str], str],
    settings: ReportSection,
) -> RelativeView | None:
    names = {run.revision: run.name for run in part.runs}
    columns = [Column(label=label, name=names[label]) for label in measured]
    absolute = absolute_table(line.line.name, metric, columns, part.rows)
    if not absolute.groups:
        return None
    relative = relative_to(absolute, measured[0])
    ratios = {row.step: row.values for group in relative.groups for row in group.rows}
    bases = {row.step: row.values[0] for group in absolute.groups for row in group.rows}
    groups: dict[str, list[Ratios]] = {}
    for step in part.steps:
        name = step.step.name
        values = ratios.get(name, (None,) * len(relative.columns))
        failures = _failures(step)
        groups.setdefault(step.step.group, []).append(
            Ratios(
                step=name,
                anchor=places[line.line.name, part.setup, name],
                base=_value_cell(bases.get(name), measured[0], failures),
                cells=tuple(
                    _ratio_cell(metric, value, settings, failures.get(column.label, ""))
                    for column, value in zip(relative.columns, values, strict=True)
                ),
            )
        )
    return RelativeView(
        metric=metric,
        help=help_of(metric),
        unit=unit_of(metric),
        base=measured[0],
        columns=relative.columns,
        groups=tuple((name, tuple(rows)) for name, rows in groups.items()),
    )


def _failures(step: StepData) -> dict[str, str]:
    """Return ``1 of 3 failed`` for each revision in which the step failed."""
    failed: dict[str, int] = {}
    total: dict[str, int] = {}
    for run in step.runs:
        total[run.revision] = total.get(run.revision, 0) + 1
        if run.failed:
            failed[run.revision] = failed.get(run.revision, 0) + 1
    return {label: f"{count} of {total[label]} failed" for label, count in failed.items()}


def _value_cell(value: float | None, label: str, failures: Mapping[str, str]) -> Cell:
    failed = failures.get(label, "")
    if value is None:
        return Cell("failed", "failed", failed) if failed else Cell("–", title="not measured")
    return Cell(figure(value), failed=failed)


def _ratio_cell(metric: str, ratio: float | None, settings: ReportSection, failed: str) -> Cell:
    if ratio is None:
        return Cell("failed", "failed", failed) if failed else Cell("–", title="nothing to compare")
    tone = _TONES.get(colour_of(metric, ratio, settings), "")
    # The limits are held against all digits: 0.95 may be either side of 0.95.
    return Cell(f"{ratio:.2f}", tone, title=f"{ratio:.4f}", failed=failed)


def _step(
    anchor: str,
    data: StepData,
    shifts: Sequence[Shift],
    labels: Sequence[str],
    measured: Sequence[str],
    settings: ReportSection,
) -> StepView:
    values = {name: medians(data, name, len(labels)) for name in data.metrics()}
    # A column of nothing but zeros is said in words: the width is needed.
    zero = tuple(
        name for name, column in values.items() if name != THROUGHPUT and not any(column)
    )
    heads = [name for name in values if name not in zero]
    failures = _failures(data)
    counts = {label: 0 for label in labels}
    for run in data.runs:
        counts[run.revision] += not run.failed
    base = labels.index(measured[0])
    qps = values.get(THROUGHPUT, [None] * len(labels))
    began = {(shift.series.metric, shift.position): shift for shift in shifts}
    rows = []
    for label in measured:
        at = labels.index(label)
        before, here = qps[base], qps[at]
        failed = failures.get(label, "")
        rows.append(
            RevisionRow(
                position=at,
                revision=label,
                base=at == base,
                runs=Cell(str(counts[label]), failed=failed),
                relative=_ratio_cell(
                    THROUGHPUT,
                    here / before if here is not None and before else None,
                    settings,
                    "" if here is not None else failed,
                ),
                cells=tuple(
                    _metric_cell(values[name][at], began.get((name, at))) for name in heads
                ),
            )
        )
    return StepView(
        anchor=anchor,
        name=data.step.name,
        group=data.step.group,
        unit=data.step.unit,
        heads=tuple(
            MetricHead(name, name.replace("latency_", ""), unit_of(name), help_of(name))
            for name in heads
        ),
        rows=tuple(rows),
        zero=zero,
        marks=tuple(
            Mark(f"{shift.series.metric} {percent(shift.effect)} at {shift.first_bad}", shift.worse)
            for shift in shifts
        ),
        failed=len(data.failed()),
        measured=bool(heads),
    )


def _metric_cell(value: float | None, shift: Shift | None) -> Cell:
    if shift is None:
        return Cell(figure(value))
    title = f"change point: {percent(shift.effect)} from here on"
    return Cell(figure(value), "worse" if shift.worse else "better", title)
