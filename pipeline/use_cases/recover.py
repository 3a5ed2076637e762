"""Measure on this machine whether regressions are gone."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pipeline.experiments.interleaved import BlocksResult, interleave
from pipeline.experiments.record import Experiment
from pipeline.experiments.recovery import experiment_for, is_back
from pipeline.measure.build import NotBuiltError
from pipeline.measure.plan import Plan
from pipeline.measure.progress import Watcher
from pipeline.model import Regression, RegressionKind, RegressionState
from pipeline.regressions.recovery import fix_of
from pipeline.storage.journal import Event, EventKind, now
from pipeline.storage.runs import measured
from pipeline.text.errors import UserError
from pipeline.use_cases.measuring import MeasuringContext

_LOG = logging.getLogger(__name__)


_STANDING = {RegressionState.CONFIRMED, RegressionState.ACKNOWLEDGED}


def standing(regression: Regression) -> bool:
    """Return whether a new measurement can show that a regression is gone."""
    return (
        regression.worse
        and regression.kind is RegressionKind.LEVEL
        and regression.state in _STANDING
    )


def recover_all(
    context: MeasuringContext,
    plan: Plan,
    regressions: Sequence[Regression],
    seconds: float,
    watcher: Watcher,
) -> None:
    """Measure regressions that seem to be gone, and resolve those that are.

    Ends after ``seconds``. An error of one regression is logged and does not stop the others.
    """
    ends = context.clock() + seconds
    there = {key for key, _ in measured(context.store)}
    for regression in regressions:
        fix = fix_of(regression, regressions)
        left = ends - context.clock()
        if fix is None or not standing(regression) or left <= 0:
            continue
        try:
            experiment = experiment_for(regression, plan, context.config.confirm, there)
            event = _asked(context, experiment, regression, fix, left, watcher)
        except (UserError, NotBuiltError) as error:
            _LOG.warning(
                f"the check whether regression {regression.fingerprint} is gone failed: {error}"
            )
            continue
        if event is not None and stands(context, regression):
            context.regressions.record([event], event.at)


def stands(context: MeasuringContext, regression: Regression) -> bool:
    """Return whether a regression is still unresolved."""
    known = context.regressions.known(now())
    return known[regression.fingerprint].allows(EventKind.RESOLVED)


def _asked(
    context: MeasuringContext,
    experiment: Experiment,
    regression: Regression,
    fix: Regression,
    seconds: float,
    watcher: Watcher,
) -> Event | None:
    """Measure whether a regression is gone; return the journal event if it is."""
    question = experiment.question
    question = question.model_copy(update={"seconds": min(question.seconds, seconds)})
    folder = experiment.folder(context.results)
    about = {"fingerprint": regression.fingerprint}
    with context.experimenting(
        folder, "recover", question.seconds, watcher, experiment.pair.mode, **about
    ) as runner:
        answer = interleave(runner, experiment.pair, question, context.clock)
    verdict = "recovered" if is_back(answer) else "not recovered"
    about |= {"experiment": experiment.name, "verdict": verdict}
    _LOG.info("experiment decided", extra={**about, "blocks": answer.blocks})
    return recovery_event(experiment, regression, fix, answer)


def recovery_event(
    experiment: Experiment, regression: Regression, fix: Regression, answer: BlocksResult
) -> Event | None:
    """Return the journal event that resolves a regression; None if it is not gone."""
    if not is_back(answer):
        return None
    head, base = experiment.head.revision.label, experiment.base.revision.label
    return Event(
        at=now(),
        event=EventKind.RESOLVED,
        fingerprint=regression.fingerprint,
        note=f"{head} is as good as {base} in a direct comparison",
        recovery=fix.fingerprint,
        experiment=experiment.name,
        blocks=answer.blocks,
        minutes=answer.seconds / 60.0,
    )
