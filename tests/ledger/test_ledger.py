"""What alarms were worth and what they cost; what a setup can find."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import pytest

from pipeline.config import DetectSection, RuleSection
from pipeline.ledger.ledger import NOT_MEASURED, Ledger, make_ledger
from pipeline.ledger.machine_time import Spent
from pipeline.regressions.grouping import group_shifts
from pipeline.regressions.rules import Rules
from pipeline.regressions.states import KnownRegression
from pipeline.storage.database import open_store
from pipeline.storage.journal import Event, EventKind
from pipeline.storage.series import Series
from tests.regressions.samples import find_shifts, key, series, shift
from tests.regressions.test_ladder_noise import line
from tests.regressions.test_pooled_detection import measured

AT = datetime(2026, 3, 1, tzinfo=UTC)
RULES = Rules(DetectSection(alarms_per_1000=0.5))
E = EventKind


def ledger_of(known: Sequence[KnownRegression], series: Sequence[Series], rules: Rules) -> Ledger:
    """The ledger of a folder in which nothing was measured."""
    return make_ledger(known, series, rules, Path("nowhere"), open_store("sqlite://"))


def row(day: int, *outcomes: Event) -> KnownRegression:
    (found,) = group_shifts([shift(5 + day)])
    raised = Event(at=AT + timedelta(days=day), event=E.FOUND, fingerprint=found.fingerprint)
    return KnownRegression(found, events=[raised, *outcomes])


def outcome(kind: EventKind, experiment: str, minutes: float, reason: str = "") -> Event:
    return Event(
        at=AT,
        event=kind,
        fingerprint="f",
        experiment=experiment,
        minutes=minutes,
        blocks=int(minutes),
        reason=reason,
    )


def test_every_alarm_has_its_verdict_and_its_cost() -> None:
    ledger = ledger_of(
        [
            row(4),
            row(3, outcome(E.REJECTED, "a", 4, "noise")),
            row(2, outcome(E.REJECTED, "b", 2, "environment")),
            # An experiment that went on reports all that it took; another one adds to it.
            row(1, outcome(E.UNDECIDED, "c", 3), outcome(E.CONFIRMED, "c", 5)),
            row(0, outcome(E.CONFIRMED, "d", 1), outcome(E.UNDECIDED, "e", 2)),
        ],
        [],
        RULES,
    )
    verdicts = [alarm.verdict for alarm in ledger.alarms]
    assert verdicts == ["undecided", "confirmed", "environment", "noise", NOT_MEASURED]
    assert [ledger.count(verdict) for verdict in verdicts] == [1] * 5
    assert [alarm.spent.minutes for alarm in ledger.alarms] == [3, 5, 2, 4, 0]
    assert [alarm.experiments for alarm in ledger.alarms] == [2, 1, 1, 1, 0]
    assert ledger.spent == Spent(confirm=14)


def test_the_end_of_a_regression_is_no_alarm() -> None:
    fix = row(3)
    fixed = fix.regression.model_copy(update={"worse": False, "recovers": "f"})
    ledger = ledger_of([row(1), replace(fix, regression=fixed)], [], RULES)
    assert [alarm.first_bad for alarm in ledger.alarms] == ["17.6"]


def test_noisier_and_shorter_series_can_show_less() -> None:
    def one(noise: float, positions: int) -> Series:
        (found,) = measured(lambda number, at: 1.0, count=1, positions=positions, noise=noise)
        name = f"{noise} {positions}"
        return found.with_key(step=name)

    ledger = ledger_of([], [one(0.02, 60), one(0.05, 60), one(0.02, 8), one(0.02, 1)], RULES)
    effects = {each.series.step: each.detectable_effect for each in ledger.series}
    assert effects["0.02 60"] < min(effects["0.02 8"], effects["0.05 60"]) < math.inf
    assert math.isinf(effects["0.02 1"]), "a single revision shows no change"
    assert [each.detectable_effect for each in ledger.series] == sorted(
        effects.values(), reverse=True
    )
    positions = {each.series.step: (each.positions, each.values) for each in ledger.series}
    assert positions["0.02 8"] == (8, 24)


@pytest.mark.parametrize("positions", [12, 45])
def test_a_change_of_the_size_reported_is_found_in_most_cases(positions: int) -> None:
    def drawn(step: float, seed: int) -> Series:
        (one,) = measured(
            lambda number, at: step if at >= positions // 2 else 1.0,
            count=1,
            positions=positions,
            noise=0.03,
            seed=seed,
        )
        return one

    ledger = ledger_of([], [drawn(1.0, seed) for seed in range(40)], RULES)
    effect = median(one.detectable_effect for one in ledger.series)
    watch = RULES.settings_of(key(), 40)
    found = {
        part: sum(bool(find_shifts(drawn(1.0 - part * effect, 100 + s), watch)) for s in range(40))
        for part in (0.3, 1.0)
    }
    assert found[0.3] <= 4
    assert found[1.0] >= 28


def test_a_line_of_single_runs_shows_what_all_its_steps_let_it_show() -> None:
    together = ledger_of([], [line(step) for step in range(30)], RULES).series
    (alone,) = ledger_of([], [line(3)], RULES).series
    assert max(one.detectable_effect for one in together) < alone.detectable_effect


def test_what_is_too_small_for_a_word_is_not_counted_as_found() -> None:
    quiet = measured(lambda number, at: 1.0, count=1, positions=30, noise=0.0005)
    (one,) = ledger_of([], quiet, RULES).series
    assert 0.03 < one.detectable_effect < 0.031, "of changes of just 3 % half measure less"


def test_the_thresholds_allow_what_the_budget_says() -> None:
    many = [series([1.0] * 4).with_key(step=str(number)) for number in range(100)]
    budget = DetectSection(wrong_issues_per_month=1)
    assert ledger_of([], many, Rules(budget)).wrong_issues_per_month == pytest.approx(1)
    few = ledger_of([], many[:10], Rules(budget))
    assert few.wrong_issues_per_month == pytest.approx(0.15), "10 series, 30 nights, 0.5 of 1000"
    half = Rules(budget, [RuleSection(step="?", mute=True)])
    assert len(ledger_of([], many, half).series) == 90
