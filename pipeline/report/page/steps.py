"""The table beside a step's chart, and the cells that all tables of the page are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.config import ReportSection
from pipeline.model import Shift
from pipeline.report.cells import tone_of
from pipeline.report.page.charts import medians
from pipeline.report.page.data import StepData
from pipeline.report.setups import THROUGHPUT
from pipeline.report.wording import change, figure, help_of, unit_of

Tone = Literal["", "worse", "better", "failed"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: its text, what it means, and what is said on pointing at it."""

    text: str
    tone: Tone = ""
    title: str = ""
    failed: str = ""


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
class Remark:
    """What the figures of one run are to be read with: that it failed its SLA, or a mark."""

    revision: str
    repetition: int
    text: str


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
    missed: tuple[Remark, ...]
    """The runs that failed their SLA, and the rates they missed."""
    marked: tuple[Remark, ...]
    measured: bool


def view_step(
    anchor: str,
    data: StepData,
    shifts: Sequence[Shift],
    labels: Sequence[str],
    measured: Sequence[str],
    settings: ReportSection,
) -> StepView:
    """Return the section of a step; the first of the ``measured`` labels is the base."""
    values = {name: medians(data, name, len(labels)) for name in data.metrics()}
    # A column of nothing but zeros is said in words: the width is needed.
    zero = tuple(name for name, column in values.items() if name != THROUGHPUT and not any(column))
    heads = [name for name in values if name not in zero]
    failures = failures_of(data)
    counts = dict.fromkeys(labels, 0)
    for run in data.runs:
        counts[run.revision] += not run.failed and not run.sla_failed
    base = labels.index(measured[0])
    qps = values.get(THROUGHPUT, [None] * len(labels))
    began = {(shift.series.metric, shift.position): shift for shift in shifts}
    rows = []
    for label in measured:
        at = labels.index(label)
        before, here = qps[base], qps[at]
        failed = failures.get(label)
        rows.append(
            RevisionRow(
                position=at,
                revision=label,
                base=at == base,
                runs=Cell(str(counts[label]), failed=failed.says if failed else ""),
                relative=ratio_cell(
                    THROUGHPUT,
                    here / before if here is not None and before else None,
                    settings,
                    None if here is not None else failed,
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
            Mark(f"{shift.series.metric} {change(shift)} at {shift.first_bad}", shift.worse)
            for shift in shifts
        ),
        failed=len(data.failed()),
        missed=tuple(Remark(run.revision, run.repetition, run.note) for run in data.sla_failed()),
        marked=tuple(
            Remark(run.revision, run.repetition, text) for run in data.runs for text in run.marks
        ),
        measured=bool(heads),
    )


def _metric_cell(value: float | None, shift: Shift | None) -> Cell:
    if shift is None:
        return Cell(figure(value))
    title = f"change point: {change(shift)} from here on"
    return Cell(figure(value), "worse" if shift.worse else "better", title)


@dataclass(frozen=True, slots=True)
class Failure:
    """That a step failed in runs of a revision.

    ``word`` stands where there is no figure, ``says`` is how often.
    """

    word: str
    says: str


def failures_of(step: StepData) -> dict[str, Failure]:
    """Return ``1 of 3 failed`` for each revision in which the step failed, or failed its SLA."""
    failed: dict[str, int] = {}
    missed: dict[str, int] = {}
    total: dict[str, int] = {}
    for run in step.runs:
        total[run.revision] = total.get(run.revision, 0) + 1
        if run.failed:
            failed[run.revision] = failed.get(run.revision, 0) + 1
        elif run.sla_failed:
            missed[run.revision] = missed.get(run.revision, 0) + 1
    return {
        label: Failure(
            word="SLA" if label in missed else "failed",
            says=", ".join(
                f"{found[label]} of {count} failed{what}"
                for found, what in ((failed, ""), (missed, " its SLA"))
                if label in found
            ),
        )
        for label, count in total.items()
        if label in failed or label in missed
    }


def value_cell(value: float | None, failed: Failure | None) -> Cell:
    """Return the cell of an absolute value."""
    if value is not None:
        return Cell(figure(value), failed=failed.says if failed else "")
    return Cell(failed.word, "failed", failed.says) if failed else Cell("–", title="not measured")


def ratio_cell(
    metric: str, ratio: float | None, settings: ReportSection, failed: Failure | None
) -> Cell:
    """Return the cell of a relative value; ``failed`` says how often the step failed, if it did."""
    if ratio is None:
        if failed:
            return Cell(failed.word, "failed", failed.says)
        return Cell("–", title="nothing to compare")
    tone = tone_of(metric, ratio, settings)
    # The limits are held against all digits: 0.95 may be either side of 0.95.
    return Cell(f"{ratio:.2f}", tone, title=f"{ratio:.4f}", failed=failed.says if failed else "")
