"""Confirm: what is suspected, a regression or an improvement, is measured again.

The revisions before and after it are measured in blocks with a control
(:mod:`pipeline.analyse.interleaved`), only in the steps at stake, on this machine, now. What came
of it is written beside the bundles, in ``results/experiments/NAME/outcome.json``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from pipeline.analyse.bench import narrowed
from pipeline.analyse.experiment import Figure, Runner
from pipeline.analyse.identity import ends
from pipeline.analyse.interleaved import Answer, Question, Row, Way, interleave
from pipeline.analyse.record import Experiment
from pipeline.analyse.regressions import cell_of, clearest
from pipeline.config import ConfirmSection
from pipeline.durable import write_whole
from pipeline.errors import UserError
from pipeline.execute.build import NotBuiltError
from pipeline.execute.plan import Plan
from pipeline.journal import now
from pipeline.model import (
    Cell,
    Frozen,
    Regression,
    RegressionKind,
    RegressionState,
    Shift,
    digest,
)

OUTCOME = "outcome.json"
"""What came of confirming a regression, in the folder of its experiment."""

Verdict = Literal["confirmed", "rejected", "undecided", "environment"]
"""What became of a suspicion.

``environment``: the control moved, so that the machine changed and not (only) the DBMS."""


class OutcomeRow(Frozen):
    """What became of one figure.

    ``effect`` and ``interval`` are relative to the last good; of a spread, those of the standard
    deviation; of an SLA, the difference of the shares of runs that kept it.
    """

    step: str
    metric: str
    effect: float
    interval: tuple[float, float]
    verdict: str


class Outcome(Frozen):
    """What became of a suspected regression or improvement, and what that cost.

    ``at`` is when the experiment ended, which tells its outcomes apart. ``evidence`` is what the
    suspicion rested on (:func:`evidence_of`). ``blocks`` are those measured so far and
    ``minutes`` what all of them took; ``note`` says why it is undecided where the rows do not.
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


def verdict_of(answer: Answer, way: Way = "worse") -> Verdict:
    """Return the verdict on a suspected change of this way from the rows of its figures.

    One figure that surely changed so confirms it; to reject it, all must be excluded.
    """
    verdicts = {row.verdict for row in answer.rows}
    if answer.moved:
        return "environment"
    if way in verdicts or (way == "worse" and "failed" in verdicts):
        return "confirmed"
    # A step that fails on head says nothing of an improvement.
    return "undecided" if verdicts & {"undecided", "failed"} else "rejected"


def suspected(regressions: tuple[Regression, ...]) -> list[Regression]:
    """Return what is to be measured again: regressions, then improvements, worst first in each.

    An improvement that made a regression good is that one's recovery, which was measured.
    """
    chosen = [
        regression
        for regression in regressions
        if regression.state is RegressionState.SUSPECTED and not regression.recovers
    ]
    return sorted(chosen, key=lambda regression: not regression.worse)


def evidence_of(regression: Regression) -> str:
    """Return the identity of the evidence for a regression: another one when more was measured.

    Positions are no part of it: they change when a line begins elsewhere.
    """
    return digest(
        [
            (shift.series.model_dump(), shift.before, shift.after, shift.pvalue)
            for shift in regression.shifts
        ]
    )[:12]


def experiment_of(regression: Regression, plan: Plan, settings: ConfirmSection) -> Experiment:
    """Return what is measured to confirm a regression or an improvement.

    That is its :func:`clearest` figures, at the :func:`ends` of its interval. Raises UserError if
    the plan has no such cells, and if no level with a ratio changed.
    """
    chosen = clearest(regression, settings.figures)
    base, head = (
        planned_cell(plan, regression, chosen[0], label) for label in ends(regression, plan)
    )
    steps = list(dict.fromkeys(shift.series.step for shift in chosen))
    workload = narrowed(base.workload, steps)
    return Experiment(
        kind=f"confirm-{regression.fingerprint}",
        base=base.model_copy(update={"workload": workload}),
        head=head.model_copy(update={"workload": workload}),
        question=Question(
            figures=tuple(Figure(shift.series.step, shift.series.metric) for shift in chosen),
            kind=regression.kind,
            smallest_effect=settings.smallest_effect,
            blocks=settings.blocks,
            seconds=settings.budget,
            only="worse" if regression.worse else "better",
        ),
    )


def planned_cells(plan: Plan, regression: Regression, shift: Shift) -> list[Cell]:
    """Return the cells of a plan that a shift was seen in, of all revisions in their order."""
    return [
        cell
        for line in plan.lines
        if line.name == regression.line
        for cell in line.cells
        if (cell.workload.hash, cell.config.family, cell.build_options, cell.machine_class)
        == cell_of(shift)
    ]


def planned_cell(plan: Plan, regression: Regression, shift: Shift, label: str) -> Cell:
    """Return the cell of a plan that a shift was seen in, of another revision.

    Raises UserError if the plan has no such cell.
    """
    for cell in planned_cells(plan, regression, shift):
        if cell.revision.label == label:
            return cell
    raise UserError(
        f"{regression.fingerprint}: the plan has no {regression.target} {label} on line "
        f"{regression.line} any more; run `nightshift detect`"
    )


def confirm(
    experiment: Experiment,
    regression: Regression,
    runner: Runner,
    folder: Path,
    seconds: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Measure a regression or an improvement again and write down what came of it.

    What was measured by an earlier, undecided attempt is used, and its minutes are counted in.
    ``seconds`` is its share of the night, if that is less than the budget of the question.
    Raises UserError for what ends a run.
    """
    before = outcome_in(folder)
    spent = before.minutes if before is not None else 0.0
    question = experiment.question
    question = question.model_copy(update={"seconds": min(question.seconds, seconds)})
    verdict: Verdict = "undecided"
    rows: tuple[Row, ...] = ()
    blocks = 0
    try:
        answer = interleave(runner, experiment.pair, question, clock)
    except NotBuiltError as error:
        note = str(error)
    else:
        verdict = verdict_of(answer, "worse" if regression.worse else "better")
        rows, blocks = answer.rows, answer.blocks
        spent += answer.seconds / 60.0
        note = "; ".join(answer.moved or dict.fromkeys(row.note for row in rows if row.note))
    outcome = Outcome(
        fingerprint=regression.fingerprint,
        at=now(),
        kind=regression.kind,
        worse=regression.worse,
        evidence=evidence_of(regression),
        verdict=verdict,
        blocks=blocks,
        minutes=spent,
        rows=tuple(
            OutcomeRow(
                step=row.step,
                metric=row.metric,
                effect=row.effect,
                interval=row.interval,
                verdict=row.verdict,
            )
            for row in rows
        ),
        note=note,
    )
    write_whole(folder / OUTCOME, outcome.model_dump_json(indent=1))
    return outcome


def share_night(
    waiting: Sequence[tuple[Regression, Experiment]],
    seconds: float,
    measure: Callable[[Regression, Experiment, float], float],
) -> None:
    """Measure one after the other, each with an equal share of what is left of the night.

    So all have their turn, and what one leaves of its share goes to those behind it. ``measure`` is
    told the seconds of one's share and returns those that it took; once ``seconds`` are spent
    nothing more is measured.
    """
    left = seconds
    for place, (regression, experiment) in enumerate(waiting):
        if left <= 0:
            return
        left -= measure(regression, experiment, left / (len(waiting) - place))


def outcome_in(folder: Path) -> Outcome | None:
    """Return what came of the experiment in a folder; None before, or if it cannot be read."""
    try:
        return Outcome.model_validate_json((folder / OUTCOME).read_text())
    except (FileNotFoundError, ValidationError):
        return None
