"""Confirm: a suspected regression is measured again, before anybody is told.

The last good and the first bad revision are measured in blocks with a control
(:mod:`pipeline.analyse.interleaved`), only in the steps at stake, on this machine, now. What came
of it is written beside the bundles, in ``results/experiments/NAME/outcome.json``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from pipeline.analyse.bench import narrowed
from pipeline.analyse.experiment import Figure, Runner
from pipeline.analyse.identity import ends
from pipeline.analyse.interleaved import Answer, Question, interleave
from pipeline.analyse.record import Experiment, write_whole
from pipeline.analyse.regressions import cell_of, clearest
from pipeline.config import ConfirmSection
from pipeline.errors import UserError
from pipeline.execute.build import NotBuiltError
from pipeline.execute.plan import Plan
from pipeline.model import (
    Cell,
    Frozen,
    Regression,
    RegressionKind,
    RegressionState,
    Shift,
)

OUTCOME = "outcome.json"
"""What came of confirming a regression, in the folder of its experiment."""

Verdict = Literal["confirmed", "rejected", "undecided", "environment"]
"""What became of a suspicion.

``environment``: the control moved, so that the machine changed and not (only) the DBMS."""


class OutcomeRow(Frozen):
    """What became of one figure; ``effect`` and ``interval`` are relative to the last good."""

    step: str
    metric: str
    effect: float
    interval: tuple[float, float]
    verdict: str


class Outcome(Frozen):
    """What became of a suspected regression, and what that cost.

    ``blocks`` are those measured so far and ``minutes`` what all of them took; ``note`` says why
    it is undecided where the rows do not.
    """

    fingerprint: str
    verdict: Verdict
    blocks: int
    minutes: float
    rows: tuple[OutcomeRow, ...]
    note: str = ""


def verdict_of(answer: Answer) -> Verdict:
    """Return the verdict on a regression from the rows of its figures.

    One figure that is surely worse confirms it; to reject it, all must be excluded.
    """
    verdicts = {row.verdict for row in answer.rows}
    if answer.moved:
        return "environment"
    if verdicts & {"worse", "failed"}:
        return "confirmed"
    return "undecided" if "undecided" in verdicts else "rejected"


def suspected(regressions: tuple[Regression, ...]) -> list[Regression]:
    """Return the regressions that are to be measured again, worst first: those of levels."""
    return [
        regression
        for regression in regressions
        if regression.worse
        and regression.state is RegressionState.SUSPECTED
        and regression.kind is RegressionKind.LEVEL
    ]


def experiment_of(regression: Regression, plan: Plan, settings: ConfirmSection) -> Experiment:
    """Return what is measured to confirm a regression.

    That is its :func:`clearest` figures, at the :func:`ends` of its interval. Raises UserError if
    the plan has no such cells, if no figure with a ratio changed, and for a regression that is
    none of levels: blocks compare levels.
    """
    if regression.kind is not RegressionKind.LEVEL:
        raise UserError(
            f"{regression.fingerprint} is a change of {regression.kind.value}, not of a level; "
            "only levels are confirmed by measuring again"
        )
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
            smallest_effect=settings.smallest_effect,
            blocks=settings.blocks,
            seconds=settings.budget,
            only_worse=True,
        ),
    )


def planned_cell(plan: Plan, regression: Regression, shift: Shift, label: str) -> Cell:
    """Return the cell of a plan that a shift was seen in, of another revision.

    Raises UserError if the plan has no such cell.
    """
    for line in plan.lines:
        for cell in line.cells:
            place = cell.workload.hash, cell.config.family, cell.build_options
            if (line.name, cell.revision.label) == (regression.line, label) and (
                place == cell_of(shift)
            ):
                return cell
    raise UserError(
        f"{regression.fingerprint}: the plan has no {regression.target} {label} on line "
        f"{regression.line} any more; run `nightshift detect`"
    )


def confirm(
    experiment: Experiment,
    fingerprint: str,
    runner: Runner,
    folder: Path,
    seconds: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Measure a regression again and write down what came of it.

    What was measured by an earlier, undecided attempt is used, and its minutes are counted in.
    ``seconds`` is what is left of the night, if that is less than the budget of the question.
    Raises UserError for what ends a run.
    """
    before = outcome_in(folder)
    spent = before.minutes if before is not None else 0.0
    question = experiment.question
    question = question.model_copy(update={"seconds": min(question.seconds, seconds)})
    try:
        answer = interleave(runner, experiment.pair, question, clock)
    except NotBuiltError as error:
        outcome = Outcome(
            fingerprint=fingerprint,
            verdict="undecided",
            blocks=0,
            minutes=spent,
            rows=(),
            note=str(error),
        )
    else:
        outcome = Outcome(
            fingerprint=fingerprint,
            verdict=verdict_of(answer),
            blocks=answer.blocks,
            minutes=spent + answer.seconds / 60.0,
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
            note="; ".join(
                answer.moved or dict.fromkeys(row.note for row in answer.rows if row.note)
            ),
        )
    write_whole(folder / OUTCOME, outcome.model_dump_json(indent=1))
    return outcome


def outcome_in(folder: Path) -> Outcome | None:
    """Return what came of the experiment in a folder; None before, or if it cannot be read."""
    try:
        return Outcome.model_validate_json((folder / OUTCOME).read_text())
    except (FileNotFoundError, ValidationError):
        return None
