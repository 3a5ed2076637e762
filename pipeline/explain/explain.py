"""Explain a regression from all that was recorded of its last good and first bad revision."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from pipeline.experiments.confirm import ConfirmOutcome
from pipeline.experiments.record import LAYING_OUT
from pipeline.experiments.timed_confirmation import timed_outcome, timed_sentence
from pipeline.explain.classify import classify
from pipeline.explain.confirmation_runs import confirmation_samples
from pipeline.explain.counted_change import CountedChange
from pipeline.explain.counts import counted_change
from pipeline.explain.explanation import (
    Explained,
    Explanation,
    StepExplanation,
    load_layout_trial,
)
from pipeline.explain.figures import FigureChange, figure_changes
from pipeline.explain.functions import FunctionChange, function_changes
from pipeline.explain.layout_trial import LayoutTrial
from pipeline.explain.plans import plan_changes
from pipeline.explain.samples import RevisionSamples, StepSide, read_side
from pipeline.explain.settings import compare_settings, suspects
from pipeline.explain.trial import Trial
from pipeline.explain.waits import wait_changes
from pipeline.measure.plan import Line, Plan
from pipeline.model import Cell, Regression, RegressionKind, SeriesKey, Shift
from pipeline.profiles.flame_graph import difference_graph, flame_graph
from pipeline.storage.bundle import EXPERIMENTS
from pipeline.text.errors import UserError
from pipeline.text.units import plural, show_figure

MOST_FUNCTIONS = 20
"""Maximum number of functions in a differential profile: those whose cost grew most."""


def explain_step(
    step: str,
    setup: str,
    before: StepSide,
    after: StepSide,
    detected: Collection[str],
    smallest_effect: float,
    trials: Sequence[Trial] = (),
    spread: Sequence[str] = (),
    counted: CountedChange | None = None,
    layout: LayoutTrial | None = None,
) -> StepExplanation:
    """Explain why one step is slower, from the records of both sides.

    ``detected`` are the metrics whose series became worse, ``smallest_effect`` is the relative
    change that matters, ``trials`` are the step's tested settings, ``spread`` describes its noise,
    ``counted`` are its counted instructions, and ``layout`` is its trial in other layouts.
    """
    figures = figure_changes(before.values, after.values, smallest_effect)
    plans = plan_changes(before.plans, after.plans)
    # A rate already missed before is no news.
    missed = [] if before.missed else after.missed
    functions = _functions(before, after, figures)
    return StepExplanation(
        step=step,
        setup=setup,
        findings=classify(
            figures,
            detected,
            plans,
            missed,
            trials,
            spread,
            functions,
            counted,
            layout,
            wait_changes(before.values, after.values),
        ),
        figures=figures,
        plans=plans,
        functions=functions[:MOST_FUNCTIONS],
        counted=counted,
    )


def explain(
    regression: Regression,
    plan: Plan,
    bundles: Path,
    smallest_effect: float,
    trials: Sequence[Trial] = (),
    results: Path | None = None,
) -> Explained:
    """Explain a regression from the bundles of its last good and first bad revision.

    The confirmation runs in ``results`` replace those of the nights in the figures of a step, if
    there are more of them. A trial counts only if its settings differ between these two revisions:
    the regression's revisions may have changed since the trial. Raises UserError if one of the
    revisions has no bundles.
    """
    steps: dict[tuple[str, str], StepExplanation] = {}
    timed = timed_outcome(regression, results) if results else None
    layout = (
        load_layout_trial(
            regression, results / EXPERIMENTS / f"{LAYING_OUT}{regression.fingerprint}"
        )
        if results
        else None
    )
    sides: dict[str, tuple[RevisionSamples, RevisionSamples]] = {}
    again: dict[str, frozenset[str]] = {}
    pictures: dict[str, str] = {}
    worst_sides: tuple[RevisionSamples, RevisionSamples] | None = None
    for shift in regression.shifts:
        key = shift.series
        cells = cells_of(regression, plan, key)
        if cells is None:
            continue
        setup = _setup(cells[1])
        if setup not in sides:
            one, other = (read_side(bundles, cell, plan.repetitions) for cell in cells)
            sides[setup] = (one, other)
            found = (
                confirmation_samples(regression.fingerprint, results, cells) if results else None
            )
            again[setup] = _prefer(found, one, other) if found is not None else frozenset()
        before, after = sides[setup]
        if (setup, key.step) in steps or not {key.step} <= before.steps.keys() & after.steps.keys():
            continue
        worst_sides = worst_sides or (before, after)
        one_step = explain_step(
            key.step,
            setup,
            before.steps[key.step],
            after.steps[key.step],
            {
                each.series.metric
                for kind in RegressionKind
                if kind.of_levels
                for each in _worse(regression, key, kind)
            }
            - _refuted(timed, key.step),
            smallest_effect,
            [trial for trial in _fitting(trials, before, after) if trial.step == key.step],
            [_noise(each) for each in _worse(regression, key, RegressionKind.SPREAD)],
            _joined(counted_change(regression, plan, key, bundles), timed, key.step),
            layout if layout is not None and layout.step == key.step else None,
        )
        drawn = _pictures(len(steps) + 1, key.step, before, after, one_step.figures)
        steps[setup, key.step] = one_step.model_copy(
            update={"pictures": tuple(drawn), "again": key.step in again[setup]}
        )
        pictures |= drawn
    if worst_sides is None:
        raise UserError(
            f"{bundles} has no bundles of {regression.last_good} or {regression.first_bad}; "
            "measure them with `nightshift run`"
        )
    explained = tuple(steps.values())
    difference = compare_settings(worst_sides[0].settings, worst_sides[1].settings)
    explanation = Explanation(
        fingerprint=regression.fingerprint,
        line=regression.line,
        target=regression.target,
        last_good=regression.last_good,
        first_bad=regression.first_bad,
        kind=explained[0].findings[0].kind,
        steps=explained,
        settings=difference,
        suspects=suspects(difference),
        trials=_fitting(trials, *worst_sides),
    )
    return Explained(explanation, pictures)


def _refuted(timed: ConfirmOutcome | None, step: str) -> set[str]:
    """Return the metrics of a step that a timed confirmation found unchanged."""
    if timed is None or timed.verdict != "rejected":
        return set()
    return {row.metric for row in timed.rows if row.step == step}


def _joined(
    counted: CountedChange | None, timed: ConfirmOutcome | None, step: str
) -> CountedChange | None:
    """Return a counted change with the timed confirmation of its step, if there is one."""
    sentence = timed_sentence(timed, step) if timed is not None else ""
    if counted is None or timed is None or not sentence:
        return counted
    slower = {"confirmed": True, "rejected": False}.get(timed.verdict, counted.slower)
    return counted.model_copy(update={"slower": slower, "timed": sentence})


def cells_of(regression: Regression, plan: Plan, key: SeriesKey) -> tuple[Cell, Cell] | None:
    """Return the cells of a series' last good and first bad revision.

    The result is None if the plan no longer has one of them.
    """
    found = {
        cell.revision.label: cell
        for line in plan.lines
        if line.name == regression.line
        for cell in _of_series(line, key)
    }
    before, after = found.get(regression.last_good), found.get(regression.first_bad)
    return (before, after) if before is not None and after is not None else None


def _prefer(
    again: tuple[RevisionSamples, RevisionSamples], before: RevisionSamples, after: RevisionSamples
) -> frozenset[str]:
    """Use the figures of the confirming runs where there are more of these than of night runs.

    Return the steps with replaced figures. The profiles of both kinds of runs are used together.
    """
    steps = again[0].steps.keys() & again[1].steps.keys() & before.steps.keys() & after.steps.keys()
    more = min(side.runs for side in again) > min(before.runs, after.runs)
    for side, measured in zip((before, after), again, strict=True):
        for name in steps:
            side.steps[name].stacks.update(measured.steps[name].stacks)
            if more:
                side.steps[name].values = measured.steps[name].values
    return frozenset(steps if more else ())


def _fitting(
    trials: Sequence[Trial], before: RevisionSamples, after: RevisionSamples
) -> tuple[Trial, ...]:
    """Return the trials whose settings all differ between the two sides."""
    differ = set(suspects(compare_settings(before.settings, after.settings)))
    return tuple(trial for trial in trials if differ.issuperset(trial.suspects))


def _of_series(line: Line, key: SeriesKey) -> list[Cell]:
    return [
        cell
        for cell in line.cells
        if cell.config.family == key.config
        and cell.build_options == key.build_options
        and cell.machine_class == key.machine_class
        and cell.workload.hash == key.workload_hash
    ]


def _worse(regression: Regression, key: SeriesKey, kind: RegressionKind) -> Iterator[Shift]:
    """Yield the changes for the worse that belong to the step of a series."""
    same = ("step", "config", "build_options", "machine_class", "workload_hash")
    for shift in regression.shifts:
        alike = all(getattr(shift.series, name) == getattr(key, name) for name in same)
        if alike and shift.worse and shift.kind is kind:
            yield shift


def _noise(shift: Shift) -> str:
    levels = f"{show_figure(shift.before)} -> {show_figure(shift.after)}"
    times = f" (x{1 + shift.effect:.2f})" if math.isfinite(shift.effect) else ""
    return f"standard deviation of {shift.series.metric} between runs {levels}{times}"


def _setup(cell: Cell) -> str:
    clients = plural(cell.workload.scale.clients, "client")
    return f"{cell.workload.name}, {cell.config.name}, {clients}, {cell.build_options}"


def _cost(figures: Sequence[FigureChange]) -> tuple[float | None, float | None]:
    (cpu,) = [figure for figure in figures if figure.metric == "cpu_us/o"] or (None,)
    return (cpu.before, cpu.after) if cpu is not None else (None, None)


def _functions(
    before: StepSide, after: StepSide, figures: Sequence[FigureChange]
) -> tuple[FunctionChange, ...]:
    if not before.stacks.total() or not after.stacks.total():
        return ()
    return function_changes(before.stacks, after.stacks, *_cost(figures))


def _pictures(
    number: int,
    step: str,
    before: RevisionSamples,
    after: RevisionSamples,
    figures: Sequence[FigureChange],
) -> dict[str, str]:
    """Return flame graphs of both sides and of their difference; empty without profiles."""
    old, new = before.steps[step].stacks, after.steps[step].stacks
    if not old.total() or not new.total():
        return {}
    cost_before, cost_after = _cost(figures)
    cost = cost_before / cost_after if cost_before and cost_after else 1.0
    name = f"{number:02d}-{step.replace('=', '-')}"
    return {
        f"{name}-before.svg": flame_graph(old, f"{before.revision}, {step}"),
        f"{name}-after.svg": flame_graph(new, f"{after.revision}, {step}"),
        f"{name}-difference.svg": difference_graph(
            old, new, f"{before.revision} -> {after.revision}, {step}", cost
        ),
    }
