"""The head of a night's report: what was found, worst first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.measure.plan import Plan
from pipeline.model import Regression, RegressionState, Shift
from pipeline.regressions.detected import Detected
from pipeline.regressions.grouping import worst
from pipeline.site.format import change, figure, help_of, interval, moment, probability, unit_of
from pipeline.site.night.data import LineData
from pipeline.site.setups import LineSetup, Place
from pipeline.text.units import plural, show_duration

FIRST_SHOWN = 8
"""Number of series of a regression that are initially shown; the others unfold."""

WIDEST_PLOT = 1.0
"""Relative change at the ends of the interval's plot: larger changes are cut off."""

Places = Mapping[Place, str]
"""The anchor of every step."""


@dataclass(frozen=True, slots=True)
class ShiftView:
    """One changed series of a regression in the report.

    ``low``, ``mid`` and ``high`` are percentages of a plot's width; 50 is no change.
    """

    step: str
    anchor: str
    metric: str
    help: str
    unit: str
    before: str
    after: str
    effect: str
    interval: str
    where: str
    pvalue: str
    low: float
    mid: float
    high: float
    worse: bool
    setup: str


@dataclass(frozen=True, slots=True)
class SummaryEntry:
    """A regression or an improvement in the head of the report."""

    anchor: str
    line: str
    last_good: str
    first_bad: str
    state: str
    culprit: str
    worse: bool
    worst: str
    extent: str
    pvalue: str
    shown: tuple[ShiftView, ...]
    folded: tuple[ShiftView, ...]


@dataclass(frozen=True, slots=True)
class FailedStep:
    """A step that failed or missed its SLA in some run."""

    lines: tuple[str, ...]
    step: str
    anchor: str
    revision: str
    repetition: int
    note: str
    sla: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """The head of the report: sentences, numbers, regressions and failures."""

    sentence: str
    caveats: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    regressions: tuple[SummaryEntry, ...]
    improvements: tuple[SummaryEntry, ...]
    failed: tuple[FailedStep, ...]


def summarise(
    lines: Sequence[LineData], plan: Plan, detected: Detected, places: Places, now: datetime
) -> Summary:
    """Return the head of the report of a night."""
    findings = [
        _finding(number, regression, places)
        for number, regression in enumerate(detected.regressions, start=1)
    ]
    failed = _failed(lines, places)
    return Summary(
        sentence=sentence(detected),
        caveats=tuple(_caveats(lines, plan, failed)),
        facts=tuple(_facts(lines, detected, now)),
        regressions=tuple(finding for finding in findings if finding.worse),
        improvements=tuple(finding for finding in findings if not finding.worse),
        failed=failed,
    )


def sentence(detected: Detected) -> str:
    """Return in one sentence what a night found, and whether any of it was confirmed."""
    if not detected.series:
        return "Detection has not run yet."
    within = f"in {plural(detected.series, 'series', 'series')}"
    if not detected.regressions:
        return f"{'; '.join(filter(None, (f'No change was found {within}', detected.reach())))}."
    worse = [regression for regression in detected.regressions if regression.worse]
    better = len(detected.regressions) - len(worse)
    parts = [
        f"{plural(len(of), 'regression').replace(' ', f' {state.value} ', 1)}"
        for state in RegressionState
        if (of := [regression for regression in worse if regression.state is state])
    ]
    if not parts:
        parts = ["no regression"]
    if better:
        parts.append(plural(better, "improvement"))
    text = f"{', '.join(parts)} {within}"
    states = {found.state for found in detected.regressions if not found.recovers}
    if RegressionState.SUSPECTED in states and RegressionState.CONFIRMED not in states:
        text += "; nothing confirmed by a second measurement yet"
    return f"{text[0].upper()}{text[1:]}."


def _caveats(lines: Sequence[LineData], plan: Plan, lost: Sequence[FailedStep]) -> list[str]:
    have = {
        (run.cell_key, run.repetition)
        for line in lines
        for part in line.setups
        for run in part.runs
    }
    missing = len(plan.remaining(have))
    texts = []
    if missing:
        planned = len(plan.due) * plan.repetitions
        texts.append(
            f"{missing} of {plural(planned, 'planned run')} "
            f"{'is' if missing == 1 else 'are'} not in the store yet."
        )
    failed = [one for one in lost if not one.sla]
    missed = [one for one in lost if one.sla]
    if failed:
        steps = plural(len({one.step for one in failed}), "step")
        texts.append(
            f"{plural(len(failed), 'measurement')} failed, in {steps}; they are shown as failed "
            "and excluded from all figures."
        )
    if missed:
        steps = plural(len({one.step for one in missed}), "step")
        texts.append(
            f"{plural(len(missed), 'measurement')} failed "
            f"{('its' if len(missed) == 1 else 'their')} SLA, in {steps}: the background work "
            "did not reach its target rate."
        )
    return texts


def _facts(lines: Sequence[LineData], detected: Detected, now: datetime) -> list[tuple[str, str]]:
    # Lines share runs, so each run is counted once, by name.
    runs = {run.run_id: run for line in lines for part in line.setups for run in part.runs}
    steps = {step.step.name for line in lines for part in line.setups for step in part.steps}
    facts = [
        ("targets", ", ".join(sorted({line.line.target for line in lines}))),
        ("lines", str(len(lines))),
        ("revisions", str(len({(run.target, run.revision) for run in runs.values()}))),
        ("steps", str(len(steps))),
        ("runs", f"{len(runs):,}".replace(",", "\u202f")),
        ("series searched", f"{detected.series:,}".replace(",", "\u202f")),
    ]
    if runs:
        began = min(run.started_at for run in runs.values())
        ended = max(run.ended_at for run in runs.values())
        spent = sum((run.ended_at - run.started_at).total_seconds() for run in runs.values())
        machines = sorted({str(run.machine["machine_class"]) for run in runs.values()})
        facts += [
            ("machine class", ", ".join(machines)),
            ("measured", f"{moment(began)} to {moment(ended)}"),
            ("time in runs", show_duration(spent)),
        ]
    return [*facts, ("page written", moment(now))]


def _failed(lines: Sequence[LineData], places: Places) -> tuple[FailedStep, ...]:
    """Return every failed step once, with all lines that it is on."""
    found: dict[tuple[str, str], FailedStep] = {}
    for line in lines:
        for part in line.setups:
            for step in part.steps:
                for run in (*step.failed(), *step.sla_failed()):
                    known = found.get((run.run_id, step.step.name))
                    found[run.run_id, step.step.name] = (
                        replace(known, lines=(*known.lines, line.line.name))
                        if known is not None
                        else FailedStep(
                            lines=(line.line.name,),
                            step=step.step.name,
                            anchor=places[line.line.name, part.setup, step.step.name],
                            revision=run.revision,
                            repetition=run.repetition,
                            note=f"SLA: {run.note}" if run.sla_failed else run.note,
                            sla=run.sla_failed,
                        )
                    )
    return tuple(found.values())


def _state(regression: Regression) -> str:
    # A recovery is confirmed together with its regression.
    return "recovery" if regression.recovers else regression.state.value


def _finding(number: int, regression: Regression, places: Places) -> SummaryEntry:
    # One scale for all series of a finding, so that their intervals are comparable.
    bounds = [
        abs(bound)
        for shift in regression.shifts
        for bound in (shift.effect_low, shift.effect_high, shift.effect)
        if math.isfinite(bound)
    ]
    scale = min(max([*bounds, 0.01]), WIDEST_PLOT)
    several = len({LineSetup.of(shift.series) for shift in regression.shifts}) > 1
    views = [_shift(shift, regression.line, places, scale, several) for shift in regression.shifts]
    largest = worst(regression)
    steps = len({shift.series.step for shift in regression.shifts})
    return SummaryEntry(
        anchor=f"finding-{number}",
        line=regression.line,
        last_good=regression.last_good,
        first_bad=regression.first_bad,
        state=_state(regression),
        culprit=str(regression.culprit or ""),
        worse=regression.worse,
        worst=f"{change(largest)} {largest.series.metric} in {largest.series.step}",
        extent=f"{plural(len(views), 'series', 'series')} in {plural(steps, 'step')}",
        pvalue=probability(min(shift.pvalue for shift in regression.shifts)),
        shown=tuple(views[:FIRST_SHOWN]),
        folded=tuple(views[FIRST_SHOWN:]),
    )


def _shift(shift: Shift, line: str, places: Places, scale: float, several: bool) -> ShiftView:
    setup = LineSetup.of(shift.series)

    def place(effect: float) -> float:
        return round(50 + 50 * max(-1.0, min(1.0, effect / scale)), 1)

    return ShiftView(
        step=shift.series.step,
        anchor=places.get((line, setup, shift.series.step), ""),
        metric=shift.series.metric,
        help=help_of(shift.series.metric),
        unit=unit_of(shift.series.metric),
        before=figure(shift.before),
        after=figure(shift.after),
        effect=change(shift),
        interval=interval(shift),
        where=shift.first_bad,
        pvalue=probability(shift.pvalue),
        low=place(shift.effect_low),
        mid=place(shift.effect),
        high=place(shift.effect_high),
        worse=shift.worse,
        setup=f"{setup.workload}, {plural(setup.clients, 'client')}, {setup.config}"
        if several
        else "",
    )
