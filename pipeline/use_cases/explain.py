"""The explain stage: find out why regressions are slower, and try old settings."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import NamedTuple

from pipeline.experiments.confirm import not_measurable
from pipeline.experiments.experiment import Figure
from pipeline.experiments.record import EXPLAINING
from pipeline.experiments.runner import only_steps
from pipeline.explain.explain import cells_of, explain
from pipeline.explain.explanation import (
    Explained,
    Explanation,
    last_explanation,
    load_trials,
    save_explained,
    save_trials,
)
from pipeline.explain.trial import Trial, try_settings
from pipeline.measure.build import NotBuiltError
from pipeline.measure.plan import Plan
from pipeline.measure.progress import Watcher
from pipeline.model import Mode, Regression
from pipeline.regressions.grouping import effect_size
from pipeline.regressions.reconcile import matching_fingerprints
from pipeline.report.explanation import explanation_markdown
from pipeline.storage.bundle import EXPERIMENTS
from pipeline.storage.journal import now
from pipeline.targets import find_target
from pipeline.text.errors import UserError
from pipeline.use_cases.measuring import MeasuringContext

_LOG = logging.getLogger(__name__)


BLOCKS = 4
"""Default number of blocks of a trial."""


class TrialRequest(NamedTuple):
    """The limits of trials of old settings: seconds, and number of runs."""

    seconds: float
    blocks: int = BLOCKS


def explain_chosen(
    context: MeasuringContext, fingerprint: str, trial: TrialRequest | None, watcher: Watcher
) -> list[Explanation]:
    """Explain the regressions whose fingerprints begin with ``fingerprint``; all if it is empty.

    With a ``trial``, their changed settings are tested first. Raises UserError for an unknown
    fingerprint.
    """
    plan = context.plan()
    chosen = _chosen(context.regressions.detection_of(plan, now()).regressions, fingerprint)
    for regression in chosen:
        if trial is not None and not try_suspects(
            context, plan, regression, trial.seconds, watcher, trial.blocks
        ):
            _LOG.warning(
                f"{regression.fingerprint}: none of the changed settings can be tested as the cause"
            )
    return [explain_one(context, plan, regression) for regression in chosen]


def explain_one(context: MeasuringContext, plan: Plan, regression: Regression) -> Explanation:
    """Explain one regression and save the explanation.

    Raises UserError if its bundles no longer exist.
    """
    explained = _explained(context, plan, regression)
    save_explained(explained, context.results)
    return explained.explanation


def try_suspects(
    context: MeasuringContext,
    plan: Plan,
    regression: Regression,
    seconds: float,
    watcher: Watcher,
    blocks: int = BLOCKS,
) -> tuple[Trial, ...]:
    """Measure the first bad revision with the old values of changed settings.

    The trials are stored beside the runs for :func:`explain_one`, which uses them to classify the
    slowdown. The call ends after ``seconds`` or after ``blocks`` of each trial, whichever is first;
    a later call continues. Returns an empty tuple if no level changed, or if no setting changed
    that can be set back. Raises UserError for an error that ends a run.
    """
    # Neither a level of zero nor a spread has a ratio whose change a trial could reverse in part.
    measured = [
        shift for shift in regression.shifts if shift.kind.of_levels and math.isfinite(shift.effect)
    ]
    shift = max(measured, key=effect_size, default=None)
    cells = cells_of(regression, plan, shift.series) if shift is not None else None
    suspects = _explained(context, plan, regression).explanation.suspects
    if shift is None or cells is None or not suspects:
        return ()
    before, after = (
        cell.model_copy(update={"workload": only_steps(cell.workload, [shift.series.step])})
        for cell in cells
    )
    folder = _folder(context, regression)
    about = {"fingerprint": regression.fingerprint}
    try:
        with context.experimenting(
            folder, "explain", seconds, watcher, after.workload.mode, **about
        ) as runner:
            trials = try_settings(
                runner,
                before,
                after,
                suspects,
                Figure(shift.series.step, shift.series.metric),
                find_target(regression.target).with_setting,
                blocks,
                seconds,
                context.clock,
            )
    except NotBuiltError as error:
        raise UserError(
            f"{regression.fingerprint}: a build failed, so there is nothing to test: {error}"
        ) from error
    save_trials(trials, folder)
    _LOG.info(
        "experiment decided", extra={"experiment": folder.name, **about, "trials": len(trials)}
    )
    return trials


def why(context: MeasuringContext, plan: Plan, regression: Regression, *, keep: bool = True) -> str:
    """Return why a regression is slower, as text for its issue; empty if unknown.

    If its line or its bundles no longer exist, the saved explanation is returned. With ``keep``,
    the explanation is saved as in :func:`explain_one`.
    """
    if not regression.worse:
        return ""
    try:
        explained = _explained(context, plan, regression)
    except UserError:
        known = last_explanation(regression, context.results)
        return explanation_markdown(known) if known is not None else ""
    if keep:
        save_explained(explained, context.results)
    return explanation_markdown(explained.explanation)


def is_unproven(context: MeasuringContext, plan: Plan, regression: Regression) -> bool:
    """Whether a regression is slower at equal instructions, with no proof of the cause.

    False for a regression whose line has no counted workload.
    """
    if not regression.worse or not any(
        cell.workload.mode is Mode.COUNT
        for line in plan.lines
        if line.name == regression.line
        for cell in line.cells
    ):
        return False
    try:
        return _explained(context, plan, regression).explanation.unproven
    except UserError:
        return False


def _explained(context: MeasuringContext, plan: Plan, regression: Regression) -> Explained:
    if plan.imports(regression.line):
        raise UserError(not_measurable(regression))
    return explain(
        regression,
        plan,
        context.bundles,
        context.config.detect.min_effect,
        load_trials(_folder(context, regression)),
        context.results,
    )


def _folder(context: MeasuringContext, regression: Regression) -> Path:
    return context.results / EXPERIMENTS / f"{EXPLAINING}{regression.fingerprint}"


def _chosen(regressions: tuple[Regression, ...], fingerprint: str) -> list[Regression]:
    """Return the regressions whose fingerprints begin with ``fingerprint``; all if it is empty."""
    worse = {each.fingerprint: each for each in regressions if each.worse}
    found = matching_fingerprints(fingerprint, worse)
    if fingerprint and not found:
        known = ", ".join(worse) or "none"
        raise UserError(f"there is no regression {fingerprint}; known regressions: {known}")
    return [worse[each] for each in found]
