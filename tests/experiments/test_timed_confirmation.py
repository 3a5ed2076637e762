"""The timed confirmation of what counts confirmed: when it is due, and what it says."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline.experiments.confirm import ConfirmOutcome, OutcomeRow, Verdict, evidence_of
from pipeline.experiments.interleaved import Question
from pipeline.experiments.record import Experiment
from pipeline.experiments.timed_confirmation import (
    TIMED,
    TIMED_OUTCOME,
    is_due,
    is_timed_later,
    timed_outcome,
    timed_sentence,
)
from pipeline.model import Culprit, Mode, Regression, RegressionKind, RegressionState, Shift
from pipeline.regressions.grouping import group_shifts
from pipeline.regressions.repository import read_outcomes
from tests.measure.samples import cell as planned
from tests.regressions.samples import shift


def counted(effect: float = 0.2) -> Shift:
    found = shift(4, effect, metric="instructions/o")
    series = found.series.model_copy(update={"mode": Mode.COUNT, "workload_hash": "counts"})
    return found.model_copy(update={"series": series, "pvalue": 0.0})


def confirmed(*shifts: Shift, **changes: Any) -> Regression:
    (one,) = group_shifts(shifts)
    return one.model_copy(update={"state": RegressionState.CONFIRMED, **changes})


@pytest.mark.parametrize(
    ("regression", "later"),
    [
        (confirmed(shift(4), counted()), True),
        (confirmed(shift(4)), False),
        (confirmed(counted()), False),
        # The counts do not explain the time, so the time was confirmed itself.
        (confirmed(shift(4, -0.5), counted(0.01)), False),
        (confirmed(shift(4), counted(), state=RegressionState.SUSPECTED), False),
        (confirmed(shift(4), counted(), worse=False), False),
        (confirmed(shift(4), counted(), kind=RegressionKind.CREEP), False),
    ],
)
def test_what_counts_explain_is_timed_later(regression: Regression, later: bool) -> None:
    assert is_timed_later(regression) is later


def outcome(verdict: Verdict, evidence: str = "", hour: int = 1) -> ConfirmOutcome:
    return ConfirmOutcome(
        fingerprint="f",
        at=datetime(2026, 1, 5, hour, tzinfo=UTC),
        kind=RegressionKind.LEVEL,
        worse=True,
        evidence=evidence,
        verdict=verdict,
        blocks=3,
        minutes=2.0,
        rows=(
            OutcomeRow(
                step="scan", metric="qps", effect=-0.2, interval=(-0.21, -0.19), verdict="worse"
            ),
        ),
    )


def test_a_decided_one_is_not_measured_again() -> None:
    one = confirmed(shift(4), counted())
    assert is_due(None, one)
    assert not is_due(outcome("confirmed"), one)
    assert not is_due(outcome("rejected"), one)
    assert is_due(outcome("undecided", "earlier"), one)
    assert not is_due(outcome("undecided", evidence_of(one)), one)


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("confirmed", "timed confirmation: confirmed; qps -20.0% (-21.0% to -19.0%)"),
        ("rejected", "timed confirmation: no slower; qps -20.0% (-21.0% to -19.0%)"),
        ("environment", "timed confirmation: the machine changed; qps -20.0% (-21.0% to -19.0%)"),
    ],
)
def test_the_sentence_has_the_verdict_and_the_figures(verdict: Verdict, said: str) -> None:
    assert timed_sentence(outcome(verdict), "scan") == said
    assert timed_sentence(outcome(verdict), "update") == ""


def saved(results: Path, fingerprint: str, base: str, head: str, found: ConfirmOutcome) -> None:
    sides = [
        side.model_copy(update={"revision": side.revision.model_copy(update={"version": version})})
        for side, version in ((planned(), base), (planned(), head))
    ]
    experiment = Experiment(
        kind=f"{TIMED}{fingerprint}",
        base=sides[0],
        head=sides[1],
        question=Question(figures=()),
    )
    (experiment.folder(results) / TIMED_OUTCOME).write_text(found.model_dump_json())


def test_the_newest_outcome_between_present_revisions_counts(tmp_path: Path) -> None:
    one = confirmed(shift(4), counted())
    assert timed_outcome(one, tmp_path) is None
    saved(tmp_path, one.fingerprint, "17.1", "17.2", outcome("rejected", hour=9))
    assert timed_outcome(one, tmp_path) is None, "those are no longer its revisions"
    saved(tmp_path, one.fingerprint, "17.3", "17.4", outcome("confirmed", hour=3))
    found = timed_outcome(one, tmp_path)
    assert found is not None and found.verdict == "confirmed"
    culprit = Culprit(revision="17.2", parent="17.1", probability=1.0, confirmed=True, subject="")
    found = timed_outcome(one.model_copy(update={"culprit": culprit}), tmp_path)
    assert found is not None and found.verdict == "rejected"
    assert read_outcomes(tmp_path) == {}, "it decides no state"
