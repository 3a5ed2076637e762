"""Judge the experiments of a bench on the hub, only from their bundles."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from pipeline.experiments.confirm import evidence_of, outcome_in, outcome_of
from pipeline.experiments.record import Experiment, archive_experiment
from pipeline.experiments.recorded import judge_recorded
from pipeline.files.atomic_write import write_atomically
from pipeline.model import Regression
from pipeline.regressions.repository import OUTCOME
from pipeline.storage.journal import now
from pipeline.text.errors import UserError
from pipeline.use_cases.assignments import BenchRequest
from pipeline.use_cases.locate import judge_search, note_neighbours
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.recover import recovery_event, stands

_LOG = logging.getLogger(__name__)


def set_aside_decided(
    context: MeasuringContext, request: BenchRequest, brought: Collection[str]
) -> None:
    """Archive the old experiments of reopened regressions that a bench has measured again.

    ``brought`` are the names of the experiments of which the bench has sent files.
    """
    for _, experiment in request.pursued.confirmations:
        known = outcome_in(experiment.place(context.results))
        since = request.assignment.since
        if known is None or since is None or experiment.name not in brought:
            continue
        if known.verdict != "undecided" and known.at <= since:
            archive_experiment(experiment, context.results)


def judge_experiments(
    context: MeasuringContext, request: BenchRequest, brought: Collection[str] = ()
) -> bool:
    """Judge experiments and record the outcomes; return whether one was confirmed.

    The hub sets the times and authors of outcomes. An undecided experiment in ``brought`` counts as
    continued with the present evidence, even without a new block. A known outcome is not recorded
    again.
    """
    confirmed = False
    for regression, experiment in request.pursued.confirmations:
        with _of_one(regression):
            with_new = experiment.name in brought
            confirmed |= _judge_confirmation(context, regression, experiment, with_new)
    context.regressions.record_pending(now())
    for regression, fix, experiment in request.pursued.recoveries:
        with _of_one(regression):
            _judge_recovery(context, regression, fix, experiment)
    for regression, search in request.pursued.searches:
        with _of_one(regression):
            if not note_neighbours(context, regression, search):
                judge_search(context, regression, search)
    return confirmed


@contextmanager
def _of_one(regression: Regression) -> Iterator[None]:
    """Log an error about one regression, so that the others are still judged."""
    try:
        yield
    except UserError as error:
        _LOG.warning(
            f"the experiments about regression {regression.fingerprint} could not be evaluated: "
            f"{error}"
        )


def _judge_confirmation(
    context: MeasuringContext, regression: Regression, experiment: Experiment, continued: bool
) -> bool:
    place = experiment.place(context.results)
    known = outcome_in(place)
    answer = judge_recorded(experiment.pair, experiment.question, place)
    if not answer.blocks:
        return False
    if known is not None and (known.blocks, known.evidence) == (
        answer.blocks,
        evidence_of(regression) if continued else known.evidence,
    ):
        return False
    outcome = outcome_of(regression, answer, answer.seconds / 60.0)
    folder = experiment.folder(context.results)
    write_atomically(folder / OUTCOME, outcome.model_dump_json(indent=1))
    _LOG.info(
        "experiment decided",
        extra={
            "experiment": experiment.name,
            "fingerprint": regression.fingerprint,
            "verdict": outcome.verdict,
            "blocks": outcome.blocks,
            "minutes": outcome.minutes,
        },
    )
    return outcome.verdict == "confirmed"


def _judge_recovery(
    context: MeasuringContext, regression: Regression, fix: Regression, experiment: Experiment
) -> None:
    answer = judge_recorded(experiment.pair, experiment.question, experiment.place(context.results))
    event = recovery_event(experiment, regression, fix, answer) if answer.blocks else None
    if event is not None and stands(context, regression):
        context.regressions.record([event], event.at)
