from __future__ import annotations

from pipeline.model import Culprit, Regression
from pipeline.regressions.grouping import by_cause, group_shifts
from tests.regressions.samples import shift

NAMED = Culprit(revision="c", parent="b", probability=0.999, confirmed=True)


def regression(position: int, line: str = "minors", **update: object) -> Regression:
    (found,) = group_shifts([shift(position, line=line)])
    return found.model_copy(update=dict(update))


def test_regressions_with_one_culprit_have_one_cause() -> None:
    first = regression(5, culprit=NAMED)
    between = regression(7)
    elsewhere = regression(9, line="other", culprit=NAMED.model_copy(update={"probability": 0.99}))
    assert by_cause([first, between, elsewhere]) == [(first, elsewhere), (between,)]


def test_what_is_not_sure_or_another_change_stands_alone() -> None:
    found = [
        regression(5, culprit=NAMED),
        regression(6, culprit=NAMED.model_copy(update={"confirmed": False})),
        regression(7, culprit=NAMED.model_copy(update={"parent": "a"})),
        regression(8, culprit=NAMED, target="mysql"),
        regression(9, culprit=NAMED, worse=False),
        regression(10),
        regression(11),
    ]
    assert by_cause(found) == [(each,) for each in found]
