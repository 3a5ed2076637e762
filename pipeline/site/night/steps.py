"""The table next to the chart of a step in a night's report, and cells of all tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup, escape

from pipeline.config import ReportSection
from pipeline.model import Shift
from pipeline.model.counts import INSTRUCTIONS
from pipeline.report.cells import tone_of
from pipeline.report.relative import ratio
from pipeline.site.format import change, figure, help_of, unit_of
from pipeline.site.night.charts import medians
from pipeline.site.night.data import StepData
from pipeline.site.setups import THROUGHPUT

Tone = Literal["", "worse", "better", "failed"]

_SIGNS = {
    "worse": '<span class="sign" title="worse">▼</span>',
    "better": '<span class="sign" title="better">▲</span>',
}


@dataclass(frozen=True, slots=True)
class HtmlCell:
    """A cell of a table on the page: its text, whether that is good or bad, and its tooltip."""

    text: str
    tone: Tone = ""
    title: str = ""
    failed: str = ""

    def html(self, kind: str = "") -> Markup:
        """Return the cell as HTML.

        This is code and not a macro of the template, because a page has thousands of cells.
        """
        classes = " ".join(filter(None, (kind, self.tone)))
        title = "; ".join(filter(None, (self.title, self.failed)))
        partly = self.failed and self.tone != "failed"
        return Markup(  # noqa: S704 # Everything of the results is escaped.
            f'<td class="{classes}"'
            + (f' title="{escape(title)}"' if title else "")
            + f">{_SIGNS.get(self.tone, '')}{escape(self.text)}"
            + ('<sup class="partly">✕</sup></td>' if partly else "</td>")
        )


@dataclass(frozen=True, slots=True)
class RevisionRow:
    """One revision in the table of a step: how many runs, and a cell for each metric."""

    position: int
    revision: str
    base: bool
    runs: HtmlCell
    relative: HtmlCell
    cells: tuple[HtmlCell, ...]


@dataclass(frozen=True, slots=True)
class MetricHead:
    """The heading of a metric's column."""

    name: str
    short: str
    unit: str
    help: str


@dataclass(frozen=True, slots=True)
class ChangeMark:
    """A change point that is named next to the heading of a step."""

    text: str
    worse: bool


@dataclass(frozen=True, slots=True)
class RunRemark:
    """A remark about one run: it missed its SLA, or was not steady."""

    revision: str
    repetition: int
    text: str


@dataclass(frozen=True, slots=True)
class StepView:
    """The part of the report about one step; ``counted`` if instructions were counted."""

    anchor: str
    counted: bool
    name: str
    group: str
    unit: str
    heads: tuple[MetricHead, ...]
    rows: tuple[RevisionRow, ...]
    zero: tuple[str, ...]
    marks: tuple[ChangeMark, ...]
    failed: int
    missed: tuple[RunRemark, ...]
    """The runs that failed their SLA, with the missed rates."""
    marked: tuple[RunRemark, ...]
    measured: bool


def view_step(
    anchor: str,
    data: StepData,
    shifts: Sequence[Shift],
    labels: Sequence[str],
    measured: Sequence[str],
    settings: ReportSection,
) -> StepView:
    """Return the part of the report about one step; the first revision is the base."""
    values = {name: medians(data, name, len(labels)) for name in data.metrics()}
    # A column of only zeros is described in words, to save width.
    zero = tuple(name for name, column in values.items() if name != THROUGHPUT and not any(column))
    heads = [name for name in values if name not in zero]
    failures = failures_of(data)
    counts = dict.fromkeys(labels, 0)
    for run in data.runs:
        counts[run.revision] += not run.failed and not run.sla_failed
    base = labels.index(measured[0])
    compared = THROUGHPUT if THROUGHPUT in values or INSTRUCTIONS not in values else INSTRUCTIONS
    levels = values.get(compared, [None] * len(labels))
    began = {(shift.series.metric, shift.position): shift for shift in shifts}
    rows = []
    for label in measured:
        at = labels.index(label)
        before, here = levels[base], levels[at]
        failed = failures.get(label)
        rows.append(
            RevisionRow(
                position=at,
                revision=label,
                base=at == base,
                runs=HtmlCell(str(counts[label]), failed=failed.says if failed else ""),
                relative=ratio_cell(
                    compared,
                    ratio(here, before),
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
        counted=compared != THROUGHPUT,
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
            ChangeMark(f"{shift.series.metric} {change(shift)} at {shift.first_bad}", shift.worse)
            for shift in shifts
        ),
        failed=len(data.failed()),
        missed=tuple(
            RunRemark(run.revision, run.repetition, run.note) for run in data.sla_failed()
        ),
        marked=tuple(
            RunRemark(run.revision, run.repetition, text) for run in data.runs for text in run.marks
        ),
        measured=bool(heads),
    )


def _metric_cell(value: float | None, shift: Shift | None) -> HtmlCell:
    if shift is None:
        return HtmlCell(figure(value))
    title = f"change point: {change(shift)} from here on"
    return HtmlCell(figure(value), "worse" if shift.worse else "better", title)


@dataclass(frozen=True, slots=True)
class RevisionFailure:
    """How often a step failed in the runs of a revision.

    ``word`` is shown in place of a missing value, ``says`` is a phrase such as ``1 of 3 failed``.
    """

    word: str
    says: str


def failures_of(step: StepData) -> dict[str, RevisionFailure]:
    """Return how often the step failed, for each revision with a run in which it failed."""
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
        label: RevisionFailure(
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


def value_cell(value: float | None, failed: RevisionFailure | None) -> HtmlCell:
    """Return the cell of an absolute value."""
    if value is not None:
        return HtmlCell(figure(value), failed=failed.says if failed else "")
    return (
        HtmlCell(failed.word, "failed", failed.says)
        if failed
        else HtmlCell("–", title="not measured")
    )


def ratio_cell(
    metric: str, ratio: float | None, settings: ReportSection, failed: RevisionFailure | None
) -> HtmlCell:
    """Return the cell of a relative value; ``failed`` has how often the step failed."""
    if ratio is None:
        if failed:
            return HtmlCell(failed.word, "failed", failed.says)
        return HtmlCell("–", title="nothing to compare")
    tone = tone_of(metric, ratio, settings)
    # The limits apply to the unrounded value: a ratio shown as 0.95 may be below or above 0.95.
    return HtmlCell(
        f"{ratio:.2f}", tone, title=f"{ratio:.4f}", failed=failed.says if failed else ""
    )
