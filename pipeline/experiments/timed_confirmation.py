"""Timed confirmation: measure the time of a regression that instruction counts confirmed.

Counting needs only one run of each build, so a regression that counts explain is also confirmed and
bisected by counts. The slowdown that users notice is measured once, at the end: the culprit beside
its parent, in blocks with a control.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.config import ConfirmSection
from pipeline.experiments.confirm import ConfirmOutcome, evidence_of, experiment_of
from pipeline.experiments.record import Experiment, load_experiment
from pipeline.files.json_file import read_json
from pipeline.measure.plan import Plan
from pipeline.model import Cell, Mode, Regression, RegressionKind, RegressionState
from pipeline.regressions.grouping import explaining_counts
from pipeline.storage.bundle import EXPERIMENTS

TIMED = "timed-"
"""Prefix of the folders of timed confirmations."""

TIMED_OUTCOME = "timed.json"
"""The file with the outcome of a timed confirmation. Its name differs from that of an ordinary
confirmation, because the outcome decides the class of a regression and not its state."""


def is_timed_later(regression: Regression) -> bool:
    """Whether a regression gets a timed confirmation: counts have confirmed it, and explain it."""
    timed = any(
        shift.series.mode is Mode.TIME and shift.kind.of_levels for shift in regression.shifts
    )
    return (
        regression.worse
        and regression.kind is RegressionKind.LEVEL
        and regression.state is RegressionState.CONFIRMED
        and timed
        and bool(explaining_counts(regression))
    )


def timed_experiment(
    regression: Regression, plan: Plan, settings: ConfirmSection, cells: Sequence[Cell] = ()
) -> Experiment:
    """Return the timed confirmation of a regression.

    ``cells`` are the timed cells of the regression's range. If they include the confirmed culprit
    and its parent, these two are measured; otherwise the two revisions of an ordinary confirmation.
    Raises UserError as :func:`pipeline.experiments.confirm.experiment_of` does.
    """
    asked = experiment_of(regression, plan, settings, Mode.TIME)
    found = {cell.revision.label: cell for cell in cells}
    culprit = regression.culprit
    base, head = asked.base, asked.head
    if (
        culprit is not None
        and culprit.confirmed
        and {culprit.parent, culprit.revision} <= set(found)
    ):
        base, head = found[culprit.parent], found[culprit.revision]
    return asked.model_copy(
        update={"kind": f"{TIMED}{regression.fingerprint}", "base": base, "head": head}
    )


def is_due(known: ConfirmOutcome | None, regression: Regression) -> bool:
    """Whether a timed confirmation is due: none exists, or it was undecided with older evidence."""
    return known is None or (
        known.verdict == "undecided" and known.evidence != evidence_of(regression)
    )


def timed_outcome_in(folder: Path) -> ConfirmOutcome | None:
    """Return the outcome in an experiment's folder; None if it is missing or unreadable."""
    return read_json(folder / TIMED_OUTCOME, ConfirmOutcome.model_validate_json)


def timed_outcome(regression: Regression, results: Path) -> ConfirmOutcome | None:
    """Return the newest timed confirmation of a regression between its present revisions.

    These are the last good and the first bad one, or the culprit and its parent.
    """
    pairs = {(regression.last_good, regression.first_bad)}
    if regression.culprit is not None:
        pairs.add((regression.culprit.parent, regression.culprit.revision))
    found = []
    for folder in sorted((results / EXPERIMENTS).glob(f"{TIMED}{regression.fingerprint}-*")):
        experiment, outcome = load_experiment(folder), timed_outcome_in(folder)
        if experiment is None or outcome is None:
            continue
        if (experiment.base.revision.label, experiment.head.revision.label) in pairs:
            found.append(outcome)
    return max(found, key=lambda outcome: outcome.at, default=None)


def timed_sentence(outcome: ConfirmOutcome, step: str) -> str:
    """Format the timed confirmation of a step; empty if the step was not measured.

    For example ``timed confirmation: confirmed; qps -9.8% (-10.4% to -9.1%)``.
    """
    rows = [row for row in outcome.rows if row.step == step]
    if not rows:
        return ""
    reported = ", ".join(
        f"{row.metric} {row.effect:+.1%} ({row.interval[0]:+.1%} to {row.interval[1]:+.1%})"
        for row in rows
    )
    verdict = {"rejected": "no slower", "environment": "the machine changed"}
    return f"timed confirmation: {verdict.get(outcome.verdict, outcome.verdict)}; {reported}"
