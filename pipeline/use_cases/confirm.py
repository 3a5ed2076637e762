"""The confirm stage: measure suspected regressions again, and decide about each."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

from pipeline.experiments.confirm import (
    ConfirmOutcome,
    confirm,
    evidence_of,
    experiment_of,
    outcome_in,
    share_night,
    suspected,
)
from pipeline.experiments.record import Experiment, archive_experiment
from pipeline.measure.plan import Plan
from pipeline.measure.progress import Watcher
from pipeline.model import Mode, Regression
from pipeline.regressions.reconcile import matching_fingerprints
from pipeline.storage.journal import now
from pipeline.text.errors import UserError
from pipeline.use_cases.event_log import logged
from pipeline.use_cases.measuring import MeasuringContext

_LOG = logging.getLogger(__name__)


class ConfirmedNow(NamedTuple):
    """The regressions that were measured again, worst first, with their outcomes.

    A suspected regression without an outcome waits for another night.
    """

    regressions: tuple[Regression, ...]
    outcomes: tuple[ConfirmOutcome, ...]


@logged("confirm")
def confirm_suspected(
    context: MeasuringContext,
    watcher: Watcher,
    fingerprints: Sequence[str] = (),
    again: bool = False,
    mode: Mode | None = None,
) -> ConfirmedNow:
    """Measure suspected regressions again: all, or those with given fingerprints.

    With ``again``, earlier runs are ignored; ``mode`` chooses instruction counts or times. Raises
    UserError for a fingerprint that matches no suspected regression, or several.
    """
    plan = context.plan()
    regressions = suspected(context.regressions.detection_of(plan, now()).regressions)
    if fingerprints:
        regressions = [_named(regressions, each) for each in fingerprints]
    outcomes = confirm_all(context, plan, regressions, watcher, again, mode=mode)
    return ConfirmedNow(tuple(regressions), tuple(outcomes))


def confirm_all(
    context: MeasuringContext,
    plan: Plan,
    regressions: list[Regression],
    watcher: Watcher,
    again: bool = False,
    go_on: bool = True,
    seconds: float | None = None,
    mode: Mode | None = None,
) -> list[ConfirmOutcome]:
    """Measure regressions again one after another, for at most ``seconds`` in total.

    The default of ``seconds`` is the configured limit of a night. Undecided regressions are
    continued; without ``go_on`` only those with new runs. A suspected regression whose experiment
    was already decided has been reopened, so it is measured from the beginning; with ``again``,
    every regression is. An error of one regression is logged and does not stop the others. Outcomes
    are recorded in the journal.
    """
    outcomes: dict[str, ConfirmOutcome] = {}
    waiting: list[tuple[Regression, Experiment]] = []
    for regression in regressions:
        try:
            experiment = experiment_of(regression, plan, context.config.confirm, mode)
        except UserError as error:
            _LOG.warning(str(error))
            continue
        known = outcome_in(experiment.place(context.results))
        if again or (known is not None and known.verdict != "undecided"):
            archive_experiment(experiment, context.results)
            known = None
        if known is not None:
            outcomes[regression.fingerprint] = known
        if known is None or go_on or known.evidence != evidence_of(regression):
            waiting.append((regression, experiment))

    def measure(regression: Regression, experiment: Experiment, seconds: float) -> float:
        known = outcomes.get(regression.fingerprint)
        try:
            outcome = _measured(context, experiment, regression, seconds, watcher)
        except UserError as error:
            _LOG.warning(str(error))
            return 0.0
        outcomes[regression.fingerprint] = outcome
        return 60.0 * (outcome.minutes - (known.minutes if known is not None else 0.0))

    night = context.config.confirm.night if seconds is None else seconds
    share_night(waiting, night, measure)
    context.regressions.record_pending(now())
    return [outcomes[each.fingerprint] for each in regressions if each.fingerprint in outcomes]


def _measured(
    context: MeasuringContext,
    experiment: Experiment,
    regression: Regression,
    seconds: float,
    watcher: Watcher,
) -> ConfirmOutcome:
    folder = experiment.folder(context.results)
    seconds_shown = min(experiment.question.seconds, seconds)
    about = {"fingerprint": regression.fingerprint}
    with context.experimenting(
        folder, "confirm", seconds_shown, watcher, experiment.pair.mode, **about
    ) as runner:
        outcome = confirm(experiment, regression, runner, folder, seconds, context.clock)
    decided = {"verdict": outcome.verdict, "blocks": outcome.blocks, "minutes": outcome.minutes}
    _LOG.info("experiment decided", extra={"experiment": experiment.name, **about, **decided})
    return outcome


def _named(regressions: list[Regression], fingerprint: str) -> Regression:
    known = {one.fingerprint: one for one in regressions}
    matching = matching_fingerprints(fingerprint, known)
    if len(matching) > 1:
        raise UserError(
            f"{len(matching)} suspected regressions begin with {fingerprint}: "
            f"{', '.join(matching)}; give more of the fingerprint"
        )
    if not matching:
        raise UserError(
            f"there is no suspected regression {fingerprint}; `nightshift regressions` lists all, "
            "and `nightshift reopen` makes a rejected one suspected again"
        )
    return known[matching[0]]
