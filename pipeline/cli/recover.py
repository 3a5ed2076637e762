"""Measuring on this machine whether a regression is gone."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.analyse.interleaved import interleave
from pipeline.analyse.record import Experiment
from pipeline.analyse.recovery import experiment_for, fix_of, is_back
from pipeline.analyse.states import histories
from pipeline.cli.console import warn
from pipeline.cli.measuring import MeasuringContext
from pipeline.errors import UserError
from pipeline.execute.build import NotBuiltError
from pipeline.execute.plan import Plan
from pipeline.execute.watch import Watcher
from pipeline.journal import Event, EventKind, Journal, now
from pipeline.model import Regression, RegressionKind, RegressionState
from pipeline.store.queries import measured

_STANDING = {RegressionState.CONFIRMED, RegressionState.ACKNOWLEDGED}


def standing(regression: Regression) -> bool:
    """Say whether it can be measured that a regression is gone: one of a level that stands."""
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
    """Measure again what was confirmed and seems to be mended, and resolve what is.

    Ends when ``seconds`` are spent. One that cannot be measured is told and does not hold up the
    others.
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
            warn(f"{regression.fingerprint} is not measured again: {error}")
            continue
        if event is not None and _stands(context, regression):
            Journal(context.results).append([event])


def _stands(context: MeasuringContext, regression: Regression) -> bool:
    """Say whether it can still be resolved: another process may have done so meanwhile."""
    known = histories(Journal(context.results).read())
    return known[regression.fingerprint].allows(EventKind.RESOLVED)


def _asked(
    context: MeasuringContext,
    experiment: Experiment,
    regression: Regression,
    fix: Regression,
    seconds: float,
    watcher: Watcher,
) -> Event | None:
    """Measure a regression beside its last good revision; return its end, if it is gone."""
    question = experiment.question
    question = question.model_copy(update={"seconds": min(question.seconds, seconds)})
    runner = context.runner(experiment.folder(context.results), watcher)
    watcher.begin("recover", question.seconds)
    try:
        with runner:
            answer = interleave(runner, experiment.pair, question, context.clock)
    finally:
        watcher.end()
    if not is_back(answer):
        return None
    head, base = experiment.head.revision.label, experiment.base.revision.label
    return Event(
        at=now(),
        event=EventKind.RESOLVED,
        fingerprint=regression.fingerprint,
        note=f"{head} is as good as {base}, measured beside it",
        recovery=fix.fingerprint,
        experiment=experiment.name,
        blocks=answer.blocks,
        minutes=answer.seconds / 60.0,
    )
