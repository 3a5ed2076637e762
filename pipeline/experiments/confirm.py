"""Confirm: measure both sides of a suspected regression or improvement again, and decide.

The revisions before and after the change are measured in blocks with a control
(:mod:`pipeline.experiments.interleaved`), only in the affected steps, on this machine. The outcome
is written beside the bundles, in ``results/experiments/NAME/outcome.json``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from pipeline.config import ConfirmSection
from pipeline.experiments.experiment import Figure, Runner
from pipeline.experiments.interleaved import BlocksResult, Question, Way, interleave
from pipeline.experiments.record import Experiment
from pipeline.experiments.runner import only_steps
from pipeline.files.atomic_write import write_atomically
from pipeline.files.json_file import read_json
from pipeline.measure.build import NotBuiltError
from pipeline.measure.plan import Plan
from pipeline.model import (
    Cell,
    Frozen,
    Mode,
    Regression,
    RegressionKind,
    RegressionState,
    Shift,
    digest,
)
from pipeline.regressions.creep import worse_steps
from pipeline.regressions.grouping import cell_of, clearest
from pipeline.regressions.reconcile import certain_ends
from pipeline.regressions.repository import OUTCOME
from pipeline.storage.journal import now
from pipeline.text.errors import UserError

Verdict = Literal["confirmed", "rejected", "undecided", "environment"]
"""The verdict on a suspicion. ``environment`` means that the control differed from base, so the
machine changed and not (only) the DBMS."""


class OutcomeRow(Frozen):
    """The verdict on one metric of a confirmation: effect, interval, decision.

    ``effect`` and ``interval`` are the change since the last good revision: for a level or a spread
    (standard deviation) the relative change, for an SLA the difference in the share of runs that
    met it.
    """

    step: str
    metric: str
    effect: float
    interval: tuple[float, float]
    verdict: str


class ConfirmOutcome(Frozen):
    """The outcome of confirming a regression or improvement, and the machine time it took.

    ``at`` is when the experiment ended, which distinguishes its outcomes. ``evidence`` identifies
    the evidence of the suspicion (:func:`evidence_of`). ``blocks`` is the number measured so far
    and ``minutes`` their total duration; ``note`` gives the reason of an undecided verdict where
    the rows do not show it.
    """

    fingerprint: str
    at: datetime
    kind: RegressionKind
    worse: bool
    evidence: str
    verdict: Verdict
    blocks: int
    minutes: float
    rows: tuple[OutcomeRow, ...]
    note: str = ""


def verdict_of(answer: BlocksResult, way: Way = "worse") -> Verdict:
    """Return whether a suspected change is confirmed or rejected, from its compared metrics.

    One metric that surely changed in the suspected direction confirms the change. The change is
    rejected only if such a change is excluded in every metric.
    """
    verdicts = {row.verdict for row in answer.rows}
    if answer.moved:
        return "environment"
    if way in verdicts or (way == "worse" and "failed" in verdicts):
        return "confirmed"
    # A step that fails on head is no evidence against an improvement.
    return "undecided" if verdicts & {"undecided", "failed"} else "rejected"


def suspected(regressions: tuple[Regression, ...]) -> list[Regression]:
    """Return the regressions and then the improvements to confirm, each worst first.

    An improvement that ends a regression is left out: it is the regression's recovery, which is
    already measured.
    """
    chosen = [
        regression
        for regression in regressions
        if regression.state is RegressionState.SUSPECTED and not regression.recovers
    ]
    return sorted(chosen, key=lambda regression: not regression.worse)


def evidence_of(regression: Regression) -> str:
    """Return a digest of a regression's evidence, which changes with further measurements.

    Positions are not part of the digest, because they change when a line gets another first
    revision.
    """
    return digest(
        [
            (shift.series.model_dump(), shift.before, shift.after, shift.pvalue)
            for shift in regression.shifts
        ]
    )[:12]


def experiment_of(
    regression: Regression, plan: Plan, settings: ConfirmSection, mode: Mode | None = None
) -> Experiment:
    """Return the experiment that would confirm a regression or an improvement.

    It measures the figures that changed most clearly (:func:`clearest`), in the last surely good
    and the first surely bad revision (:func:`certain_ends`). Without a ``mode``, it counts
    instructions if they explain the regression, and otherwise measures time. Raises UserError if
    the plan lacks the cells, and if every changed level is zero on one side.
    """
    chosen = clearest(regression, settings.figures, mode)
    base, head = (
        planned_cell(plan, regression, chosen[0], label) for label in certain_ends(regression, plan)
    )
    steps = list(dict.fromkeys(shift.series.step for shift in chosen))
    workload = only_steps(base.workload, steps)
    return Experiment(
        kind=f"confirm-{regression.fingerprint}",
        base=base.model_copy(update={"workload": workload}),
        head=head.model_copy(update={"workload": workload}),
        question=Question(
            figures=tuple(Figure(shift.series.step, shift.series.metric) for shift in chosen),
            kind=regression.kind,
            # The ends of a creep differ by the reported steps between them, too.
            smallest_effect=settings.smallest(workload.mode) + max(map(worse_steps, chosen)),
            blocks=settings.blocks,
            seconds=settings.budget,
            only="worse" if regression.worse else "better",
        ),
    )


def planned_cells(
    plan: Plan, regression: Regression, shift: Shift, label: str | None = None
) -> list[Cell]:
    """Return the cells on a regression's line with the setup of a shift, in order.

    With ``label``, return only those of the revision with this label.
    """
    setup = cell_of(shift)
    return [
        cell
        for line in plan.lines
        if line.name == regression.line
        for cell in line.cells
        if label in (None, cell.revision.label)
        and (cell.workload.hash, cell.config.family, cell.build_options, cell.machine_class)
        == setup
    ]


def planned_cell(plan: Plan, regression: Regression, shift: Shift, label: str) -> Cell:
    """Return the cell with the setup of a shift for the revision with this label.

    Raises UserError if the plan has no such cell, and for an imported line.
    """
    for cell in planned_cells(plan, regression, shift, label):
        if cell.imported:
            raise UserError(not_measurable(regression))
        return cell
    raise UserError(
        f"{regression.fingerprint}: {regression.target} {label} is no longer in the plan of "
        f"line {regression.line}; run `nightshift detect`"
    )


def not_measurable(regression: Regression) -> str:
    """Return why a regression of an imported line cannot be measured again, and what to do."""
    return (
        f"{regression.fingerprint}: the line {regression.line} was imported, so nightshift cannot "
        "measure its revisions; decide with `nightshift ack` or `nightshift wontfix`"
    )


def confirm(
    experiment: Experiment,
    regression: Regression,
    runner: Runner,
    folder: Path,
    seconds: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
) -> ConfirmOutcome:
    """Measure a regression or an improvement again, and write the outcome to its folder.

    Runs and minutes of an earlier, undecided attempt are included. Measuring stops after
    ``seconds``, the experiment's share of the night, or at the limit of the question if that is
    earlier. Raises UserError for an error that ends a run.
    """
    before = outcome_in(folder)
    spent = before.minutes if before is not None else 0.0
    question = experiment.question
    question = question.model_copy(update={"seconds": min(question.seconds, seconds)})
    try:
        answer = interleave(runner, experiment.pair, question, clock)
    except NotBuiltError as error:
        outcome = outcome_of(regression, BlocksResult(rows=(), blocks=0, seconds=0.0), spent)
        outcome = outcome.model_copy(update={"verdict": "undecided", "note": str(error)})
    else:
        outcome = outcome_of(regression, answer, spent + answer.seconds / 60.0)
    write_atomically(folder / OUTCOME, outcome.model_dump_json(indent=1))
    return outcome


def outcome_of(regression: Regression, answer: BlocksResult, minutes: float) -> ConfirmOutcome:
    """Return the outcome of a confirmation from the compared metrics so far."""
    return ConfirmOutcome(
        fingerprint=regression.fingerprint,
        at=now(),
        kind=regression.kind,
        worse=regression.worse,
        evidence=evidence_of(regression),
        verdict=verdict_of(answer, "worse" if regression.worse else "better"),
        blocks=answer.blocks,
        minutes=minutes,
        rows=tuple(
            OutcomeRow(
                step=row.step,
                metric=row.metric,
                effect=row.effect,
                interval=row.interval,
                verdict=row.verdict,
            )
            for row in answer.rows
        ),
        note="; ".join(answer.moved or dict.fromkeys(row.note for row in answer.rows if row.note)),
    )


def share_night(
    waiting: Sequence[tuple[Regression, Experiment]],
    seconds: float,
    measure: Callable[[Regression, Experiment, float], float],
) -> None:
    """Run experiments one after another; each may use an equal share of the remaining night.

    Every experiment gets a turn, and unused time goes to the later ones. ``measure`` receives an
    experiment's share in seconds and returns the seconds it took. Measuring stops once ``seconds``
    are spent.
    """
    left = seconds
    for place, (regression, experiment) in enumerate(waiting):
        if left <= 0:
            return
        left -= measure(regression, experiment, left / (len(waiting) - place))


def outcome_in(folder: Path) -> ConfirmOutcome | None:
    """Return the outcome in the folder of an experiment; None if it is missing or unreadable."""
    return read_json(folder / OUTCOME, ConfirmOutcome.model_validate_json)
