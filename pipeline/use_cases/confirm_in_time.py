"""Measure regressions once with timed runs, after instruction counts have confirmed them."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pipeline.experiments.confirm import outcome_of, share_night
from pipeline.experiments.interleaved import interleave
from pipeline.experiments.record import Experiment, load_experiment
from pipeline.experiments.timed_confirmation import (
    TIMED_OUTCOME,
    is_due,
    is_timed_later,
    timed_experiment,
    timed_outcome,
    timed_outcome_in,
)
from pipeline.files.atomic_write import write_atomically
from pipeline.measure.build import NotBuiltError
from pipeline.measure.plan import Plan
from pipeline.measure.progress import Watcher
from pipeline.model import Cell, Mode, Regression
from pipeline.storage.bundle import EXPERIMENTS
from pipeline.storage.journal import EventKind, now
from pipeline.text.errors import UserError
from pipeline.use_cases.locate import search_of
from pipeline.use_cases.measuring import MeasuringContext

_LOG = logging.getLogger(__name__)


def confirm_in_time(
    context: MeasuringContext,
    plan: Plan,
    regressions: Sequence[Regression],
    seconds: float,
    watcher: Watcher,
) -> None:
    """Measure with timed runs, within ``seconds``, what instruction counts have confirmed.

    Regressions that timed runs have already decided are skipped, and so are those whose timed
    series belong to another machine class. An error of one regression is logged and does not stop
    the others.
    """
    waiting = []
    for regression in regressions:
        if not is_timed_later(regression) or not _confirmed_by_counts(context, regression):
            continue
        if not is_due(timed_outcome(regression, context.results), regression):
            continue
        try:
            cells = _range_of(context, plan, regression)
            experiment = timed_experiment(regression, plan, context.config.confirm, cells)
        except UserError as error:
            _LOG.warning(
                f"regression {regression.fingerprint} is not measured with timed runs: {error}"
            )
            continue
        if experiment.base.machine_class != context.machine_class:
            continue
        if is_due(timed_outcome_in(experiment.place(context.results)), regression):
            waiting.append((regression, experiment))

    def measure(regression: Regression, experiment: Experiment, share: float) -> float:
        try:
            return _measured(context, regression, experiment, share, watcher)
        except (UserError, NotBuiltError) as error:
            _LOG.warning(
                f"regression {regression.fingerprint} is not measured with timed runs: {error}"
            )
            return 0.0

    share_night(waiting, seconds, measure)


def _range_of(context: MeasuringContext, plan: Plan, regression: Regression) -> tuple[Cell, ...]:
    """Return the timed cells to bisect for a regression; empty without culprit or such cells."""
    if regression.culprit is None or not regression.culprit.confirmed:
        return ()
    try:
        return search_of(context, plan, regression, Mode.TIME).cells
    except UserError:
        return ()


def _confirmed_by_counts(context: MeasuringContext, regression: Regression) -> bool:
    """Whether the last confirmation of a regression counted instructions."""
    confirming = [
        event.experiment
        for event in context.regressions.events(now())
        if event.event is EventKind.CONFIRMED and event.fingerprint == regression.fingerprint
    ]
    experiment = (
        load_experiment(context.results / EXPERIMENTS / confirming[-1]) if confirming else None
    )
    return experiment is not None and experiment.pair.mode is Mode.COUNT


def _measured(
    context: MeasuringContext,
    regression: Regression,
    experiment: Experiment,
    seconds: float,
    watcher: Watcher,
) -> float:
    folder = experiment.folder(context.results)
    known = timed_outcome_in(folder)
    spent = known.minutes if known is not None else 0.0
    limit = min(experiment.question.seconds, seconds)
    about = {"fingerprint": regression.fingerprint}
    with context.experimenting(
        folder, "confirm", limit, watcher, experiment.pair.mode, **about
    ) as runner:
        question = experiment.question.model_copy(update={"seconds": limit})
        answer = interleave(runner, experiment.pair, question, context.clock)
    outcome = outcome_of(regression, answer, spent + answer.seconds / 60.0)
    write_atomically(folder / TIMED_OUTCOME, outcome.model_dump_json(indent=1))
    decided = {"verdict": outcome.verdict, "blocks": outcome.blocks, "minutes": outcome.minutes}
    _LOG.info("experiment decided", extra={"experiment": experiment.name, **about, **decided})
    return answer.seconds
