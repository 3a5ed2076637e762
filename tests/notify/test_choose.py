from __future__ import annotations

import pytest

from pipeline.model import Regression, RegressionState
from pipeline.notify.base import Cause
from pipeline.notify.base.choose import ReportedRegression, choose
from tests.notify.samples import confirmed, regression, stated
from tests.regressions.samples import shift

ONE, TWO, THREE = (regression(shift(place)) for place in (11, 12, 13))
BETTER = regression(shift(14, 0.25, worse=False))


def cause(*regressions: Regression) -> Cause:
    return Cause(regressions=regressions)


def test_nothing_is_reported_before_it_was_measured_again() -> None:
    assert choose([cause(ONE)], (), suspected=False) == []
    assert choose([cause(ONE)], (), suspected=True) == [ReportedRegression(ONE, (), new=True)]
    sure = confirmed(ONE)
    assert choose([cause(sure)], (), suspected=False) == [ReportedRegression(sure, (), new=True)]


@pytest.mark.parametrize(
    ("state", "stands"),
    [
        (RegressionState.REJECTED, False),
        (RegressionState.RESOLVED, False),
        (RegressionState.ACKNOWLEDGED, True),
        (RegressionState.WONT_FIX, True),
    ],
)
def test_a_settled_regression_is_reported_only_where_it_was_before(
    state: RegressionState, stands: bool
) -> None:
    one = stated(ONE, state)
    assert choose([cause(one)], (), suspected=True) == []
    chosen = choose([cause(one)], {one.fingerprint}, suspected=False)
    assert chosen == [ReportedRegression(one, (), new=False)]
    assert chosen[0].stands is stands


def test_a_reported_suspicion_is_updated_when_suspicions_are_no_longer_reported() -> None:
    assert choose([cause(ONE)], {ONE.fingerprint}, suspected=False) == [
        ReportedRegression(ONE, (), new=False)
    ]


def test_improvements_are_never_reported() -> None:
    better = confirmed(BETTER)
    assert choose([cause(better)], {better.fingerprint}, suspected=True) == []
    sure = confirmed(ONE)
    assert choose([cause(better, sure)], (), suspected=True) == [
        ReportedRegression(sure, (), new=True)
    ]


def test_one_cause_is_reported_once() -> None:
    one, two, three = confirmed(ONE), confirmed(TWO), confirmed(THREE)
    chosen = choose([cause(one, two), cause(three)], (), suspected=False)
    assert chosen == [
        ReportedRegression(one, (two,), new=True),
        ReportedRegression(three, (), new=True),
    ]
    # A reported regression keeps its report, whichever is the worst now.
    chosen = choose([cause(two, one)], {one.fingerprint}, suspected=False)
    assert chosen == [ReportedRegression(one, (two,), new=False)]
    # Both keep theirs if each had a report.
    chosen = choose([cause(one, two)], {one.fingerprint, two.fingerprint}, suspected=False)
    assert chosen == [
        ReportedRegression(one, (two,), new=False),
        ReportedRegression(two, (one,), new=False),
    ]


def test_a_settled_one_hides_no_other() -> None:
    one, two = stated(ONE, RegressionState.REJECTED), confirmed(TWO)
    assert choose([cause(one, two)], (), suspected=False) == [
        ReportedRegression(two, (one,), new=True)
    ]


def test_a_cause_stands_as_long_as_one_of_its_regressions() -> None:
    gone = stated(ONE, RegressionState.RESOLVED)
    (chosen,) = choose([cause(gone, confirmed(TWO))], {gone.fingerprint}, suspected=False)
    assert chosen == ReportedRegression(gone, (confirmed(TWO),), new=False)
    assert chosen.stands
    (chosen,) = choose([cause(gone)], {gone.fingerprint}, suspected=False)
    assert not chosen.stands
