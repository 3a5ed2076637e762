from __future__ import annotations

import pytest

from pipeline.model import Culprit, Regression, RegressionState
from pipeline.notify.base.choose import ReportedRegression
from pipeline.notify.base.deliver import ChangeKind, ReportedState, change_since, standing_of
from tests.notify.samples import OTHER, WORSE, confirmed, stated

SUSPECTED, CONFIRMED = RegressionState.SUSPECTED, RegressionState.CONFIRMED
NAMED = Culprit(revision="c0ffee", parent="b0ffee", probability=0.999, confirmed=True)


def telling(one: Regression, *beside: Regression) -> ReportedRegression:
    return ReportedRegression(one, beside, new=False)


def became(now: ReportedRegression, before: ReportedState | None) -> tuple[ChangeKind, str] | None:
    change = change_since(now, before)
    return (change.kind, change.regression.fingerprint) if change is not None else None


def test_what_was_never_told_is_told_as_it_stands() -> None:
    assert became(telling(WORSE), None) == (ChangeKind.SUSPECTED, WORSE.fingerprint)
    assert became(telling(confirmed(WORSE)), None) == (ChangeKind.CONFIRMED, WORSE.fingerprint)


def test_nothing_is_told_of_what_stands_as_before() -> None:
    for state in RegressionState:
        now = telling(stated(WORSE, state), OTHER)
        assert became(now, standing_of(now)) is None
    # More or other series are no news; the place where it is kept is brought up to date.
    narrower = WORSE.model_copy(update={"shifts": WORSE.shifts[:1], "first_bad": "17.10"})
    assert became(telling(narrower), standing_of(telling(WORSE))) is None


@pytest.mark.parametrize("before", RegressionState)
@pytest.mark.parametrize("after", RegressionState)
def test_what_became_of_it_is_told(before: RegressionState, after: RegressionState) -> None:
    then, now = telling(stated(WORSE, before)), telling(stated(WORSE, after))
    open_states = {SUSPECTED, CONFIRMED}
    expected = ChangeKind(after.value)
    if after in open_states and before not in open_states:
        expected = ChangeKind.REOPENED
    told = None if before is after else (expected, WORSE.fingerprint)
    assert became(now, standing_of(then)) == told


def test_a_culprit_is_told_once_it_was_compared_with_its_parent() -> None:
    then = standing_of(telling(WORSE))
    guessed = WORSE.model_copy(
        update={"culprit": NAMED.model_copy(update={"confirmed": False, "probability": 0.9})}
    )
    assert became(telling(guessed), then) is None
    found = telling(WORSE.model_copy(update={"culprit": NAMED}))
    assert became(found, then) == (ChangeKind.CULPRIT, WORSE.fingerprint)
    assert became(found, standing_of(found)) is None


def test_what_happened_to_those_beside_is_told_too() -> None:
    one, other = confirmed(WORSE), confirmed(OTHER)
    alone, both = telling(one), telling(one, other)
    assert became(both, standing_of(alone)) == (ChangeKind.JOINED, OTHER.fingerprint)
    gone = telling(one, stated(other, RegressionState.RESOLVED))
    assert became(gone, standing_of(both)) == (ChangeKind.RESOLVED, OTHER.fingerprint)
    # Its own comes first.
    all_gone = telling(stated(one, RegressionState.RESOLVED), *gone.beside)
    assert became(all_gone, standing_of(both)) == (ChangeKind.RESOLVED, WORSE.fingerprint)
    assert became(alone, standing_of(both)) is None
