"""The lines of the page: relative tables, and for every step a chart and a table beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.config import ReportSection
from pipeline.model import Regression
from pipeline.report.page.charts import Charts
from pipeline.report.page.data import LineData, SetupData
from pipeline.report.page.scaleup import ScaleUpView, scale_ups, scaled, view_scale_up
from pipeline.report.page.steps import (
    Cell,
    StepView,
    failures_of,
    ratio_cell,
    value_cell,
    view_step,
)
from pipeline.report.relative import Column, absolute_table, relative_to
from pipeline.report.setups import TABLE_METRICS, Place, shifts_at
from pipeline.report.wording import Anchors, help_of, unit_of
from pipeline.units import counted


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
    unbuilt: tuple[tuple[str, str], ...]
    """Those of them without a build, and why."""
    scale_ups: tuple[ScaleUpView, ...]
    setups: tuple[SetupView, ...]


def view_lines(
    lines: Sequence[LineData],
    regressions: Sequence[Regression],
    places: Mapping[Place, str],
    anchors: Anchors,
    settings: ReportSection,
    charts: Charts,
    unbuilt: Mapping[str, str],
) -> list[LineView]:
    """Return what the page shows of the lines, and add a chart for every step.

    ``unbuilt`` says by the keys of cells why revisions have no build.
    """
    shifts = shifts_at(regressions)
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
                found = shifts.get(key, [])
                at = line.labels.index(base)
                charts.add(places[key], number, step, found, at)
                steps.append(view_step(places[key], step, found, line.labels, measured, settings))
            setups.append(
                SetupView(
                    anchor=anchors.new(line.line.name, part.setup.workload),
                    title=part.setup.title,
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
        scaling = []
        for parts in scale_ups(line):
            scale_up = view_scale_up(parts, line, anchors)
            charts.add_scale_up(scaled(scale_up, number, parts, line))
            scaling.append(scale_up)
        reasons = {
            cell.revision.label: unbuilt[cell.key]
            for cell in line.line.cells
            if cell.key in unbuilt
        }
        views.append(
            LineView(
                anchor=anchors.new("line", line.line.name),
                name=line.line.name,
                target=line.line.target,
                revisions=tuple(line.labels),
                unmeasured=tuple(
                    label for label in line.labels if label not in met and label not in reasons
                ),
                unbuilt=tuple(
                    (label, reasons[label])
                    for label in line.labels
                    if label not in met and label in reasons
                ),
                scale_ups=tuple(scaling),
                setups=tuple(setups),
            )
        )
    return views


def _seconds(part: SetupData) -> str:
    workload = part.runs[0].workload
    scale = workload["scale"]
    options = "".join(f"; {name} = {value}" for name, value in workload.get("options", {}).items())
    return (
        f"{counted(scale['tables'], 'table')} of {counted(scale['rows'], 'row')}; each step is "
        f"measured for {scale['measure']:g} s after {scale['warmup']:g} s of warm-up{options}"
    )


def _relative(
    line: LineData,
    part: SetupData,
    metric: str,
    measured: Sequence[str],
    places: Mapping[Place, str],
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
        failures = failures_of(step)
        groups.setdefault(step.step.group, []).append(
            Ratios(
                step=name,
                anchor=places[line.line.name, part.setup, name],
                base=value_cell(bases.get(name), failures.get(measured[0])),
                cells=tuple(
                    ratio_cell(metric, value, settings, failures.get(column.label))
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
