"""The lines in a night's report: relative tables, and a chart and a table for every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.config import ReportSection
from pipeline.model import Regression
from pipeline.report.relative import Column, ratio
from pipeline.site.changes import changes_at
from pipeline.site.format import Anchors, help_of, unit_of
from pipeline.site.night.charts import Charts, medians
from pipeline.site.night.data import LineData, SetupData
from pipeline.site.night.scaleup import ScaleUpView, scale_ups, scaled, view_scale_up
from pipeline.site.night.steps import (
    HtmlCell,
    StepView,
    failures_of,
    ratio_cell,
    value_cell,
    view_step,
)
from pipeline.site.setups import TABLE_METRICS, Place
from pipeline.text.units import plural


@dataclass(frozen=True, slots=True)
class Ratios:
    """One row of a relative table in the report: a step."""

    step: str
    anchor: str
    base: HtmlCell
    cells: tuple[HtmlCell, ...]


@dataclass(frozen=True, slots=True)
class RelativeView:
    """A relative table in the report, by group of steps."""

    metric: str
    help: str
    unit: str
    base: str
    columns: tuple[Column, ...]
    groups: tuple[tuple[str, tuple[Ratios, ...]], ...]


@dataclass(frozen=True, slots=True)
class SetupView:
    """The part of the report about a line with one workload, configuration and machine class."""

    anchor: str
    title: str
    seconds: str
    base: str
    tables: tuple[RelativeView, ...]
    steps: tuple[StepView, ...]


@dataclass(frozen=True, slots=True)
class LineView:
    """The part of the report about a line."""

    anchor: str
    name: str
    target: str
    revisions: tuple[str, ...]
    unmeasured: tuple[str, ...]
    unbuilt: tuple[tuple[str, str], ...]
    """Revisions without a build, each with the reason."""
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
    """Return the parts of the report about all lines, and add a chart for every step.

    ``unbuilt`` has the reasons of failed builds by the keys of cells.
    """
    changes = changes_at(regressions)
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
                found = changes.get(key, [])
                shifts = [point.shift for point in found]
                at = line.labels.index(base)
                charts.add(places[key], number, step, found, at)
                steps.append(view_step(places[key], step, shifts, line.labels, measured, settings))
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
        f"{plural(scale['tables'], 'table')} of {plural(scale['rows'], 'row')}; each step is "
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
    at = [line.labels.index(label) for label in measured]
    groups: dict[str, list[Ratios]] = {}
    shown = False
    for step in part.steps:
        along = medians(step, metric, len(line.labels))
        base, *values = (along[position] for position in at)
        shown = shown or any(value is not None for value in (base, *values))
        failures = failures_of(step)
        groups.setdefault(step.step.group, []).append(
            Ratios(
                step=step.step.name,
                anchor=places[line.line.name, part.setup, step.step.name],
                base=value_cell(base, failures.get(measured[0])),
                cells=tuple(
                    ratio_cell(metric, ratio(value, base), settings, failures.get(label))
                    for label, value in zip(measured[1:], values, strict=True)
                ),
            )
        )
    if not shown:
        return None
    names = {run.revision: run.name for run in part.runs}
    return RelativeView(
        metric=metric,
        help=help_of(metric),
        unit=unit_of(metric),
        base=measured[0],
        columns=tuple(Column(label=label, name=names[label]) for label in measured[1:]),
        groups=tuple((name, tuple(rows)) for name, rows in groups.items()),
    )
