from __future__ import annotations

import pytest

from pipeline.model import Culprit, Regression, RegressionState
from pipeline.notify.base.choose import ReportedRegression
from pipeline.notify.base.deliver import ChangeKind, ReportedState, change_since, standing_of
from tests.notify.samples import OTHER, WORSE, confirmed, stated

SUSPECTED, CONFIRMED = RegressionState.SUSPECTED, RegressionState.CONFIRMED
NAMED = Culprit(revision="c0ffee", parent="b0ffee", probability=0.999, confirmed=True)


def reported(one: Regression, *beside: Regression) -> ReportedRegression:
    return ReportedRegression(one, beside, new=False)


def became(now: ReportedRegression, before: ReportedState | None) -> tuple[ChangeKind, str] | None:
    change = change_since(now, before)
    return (change.kind, change.regression.fingerprint) if change is not None else None


def test_a_regression_without_a_report_is_reported_in_its_present_state() -> None:
    assert became(reported(WORSE), None) == (ChangeKind.SUSPECTED, WORSE.fingerprint)
    assert became(reported(confirmed(WORSE)), None) == (ChangeKind.CONFIRMED, WORSE.fingerprint)


def test_nothing_is_reported_without_a_change() -> None:
    for state in RegressionState:
        now = reported(stated(WORSE, state), OTHER)
        assert became(now, standing_of(now)) is None
    # More or other series are no news; the place where it is kept is brought up to date.
    narrower = WORSE.model_copy(update={"shifts": WORSE.shifts[:1], "first_bad": "17.10"})
    assert became(reported(narrower), standing_of(reported(WORSE))) is None


@pytest.mark.parametrize("before", RegressionState)
@pytest.mark.parametrize("after", RegressionState)
def test_a_change_of_state_is_reported(before: RegressionState, after: RegressionState) -> None:
    then, now = reported(stated(WORSE, before)), reported(stated(WORSE, after))
    open_states = {SUSPECTED, CONFIRMED}
    expected = ChangeKind(after.value)
    if after in open_states and before not in open_states:
        expected = ChangeKind.REOPENED
    change = None if before is after else (expected, WORSE.fingerprint)
    assert became(now, standing_of(then)) == change


def test_a_culprit_is_reported_once_it_was_compared_with_its_parent() -> None:
    then = standing_of(reported(WORSE))
    guessed = WORSE.model_copy(
        update={"culprit": NAMED.model_copy(update={"confirmed": False, "probability": 0.9})}
    )
    assert became(reported(guessed), then) is None
    found = reported(WORSE.model_copy(update={"culprit": NAMED}))
    assert became(found, then) == (ChangeKind.CULPRIT, WORSE.fingerprint)
    assert became(found, standing_of(found)) is None


def test_changes_of_those_beside_are_reported_too() -> None:
    one, other = confirmed(WORSE), confirmed(OTHER)
    alone, both = reported(one), reported(one, other)
    assert became(both, standing_of(alone)) == (ChangeKind.JOINED, OTHER.fingerprint)
    gone = reported(one, stated(other, RegressionState.RESOLVED))
    assert became(gone, standing_of(both)) == (ChangeKind.RESOLVED, OTHER.fingerprint)
    # Its own comes first.
    all_gone = reported(stated(one, RegressionState.RESOLVED), *gone.beside)
    assert became(all_gone, standing_of(both)) == (ChangeKind.RESOLVED, WORSE.fingerprint)
    assert became(alone, standing_of(both)) is None
