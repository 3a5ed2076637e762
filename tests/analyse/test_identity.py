"""A regression keeps its name while the evidence for it grows and moves."""

from __future__ import annotations

from datetime import UTC, datetime

from pipeline.analyse.identity import bounds, identify
from pipeline.analyse.regressions import group_shifts
from pipeline.analyse.states import Histories, histories
from pipeline.execute.plan import Line, Plan
from pipeline.journal import Event, EventKind
from pipeline.model import Regression, RegressionKind, Shift
from tests.analyse.samples import shift
from tests.report.page_store import revision


def plan(first: int = 0, last: int = 20) -> Plan:
    lines = tuple(
        Line(
            name=name,
            target="postgres",
            revisions=tuple(revision(f"17.{minor}") for minor in range(first, last)),
            cells=(),
        )
        for name in ("minors", "other")
    )
    return Plan(lines=lines, repetitions=1)


PLAN = plan()


def found(*shifts: Shift, of: Plan = PLAN) -> Histories:
    """What the journal knows after a night that found these."""
    events = []
    for one in group_shifts(shifts):
        earliest, latest = bounds(one, of)
        events.append(
            Event(
                at=datetime(2026, 3, 1, tzinfo=UTC),
                event=EventKind.FOUND,
                fingerprint=one.fingerprint,
                regression=one,
                earliest=earliest,
                latest=latest,
            )
        )
    return histories(events)


def names(regressions: list[Regression], known: Histories, of: Plan = PLAN) -> list[str]:
    return [one.fingerprint for one in identify(regressions, known, of)]


def test_the_bounds_are_those_of_the_surest_series() -> None:
    (one,) = group_shifts([shift(6, interval=(4, 7)), shift(5, interval=(4, 6), step="other")])
    assert bounds(one, PLAN) == ("17.4", "17.6")


def test_a_position_that_moves_within_its_interval_is_the_same_regression() -> None:
    known = found(shift(5, interval=(4, 6)))
    (name,) = known
    for place, interval in [(5, (5, 5)), (6, (5, 7)), (4, (3, 4))]:
        assert names(group_shifts([shift(place, interval=interval)]), known) == [name]
    (apart,) = names(group_shifts([shift(7)]), known)
    assert apart != name


def test_other_lines_directions_and_kinds_are_others() -> None:
    known = found(shift(5, interval=(4, 6)))
    spread = shift(5).model_copy(update={"kind": RegressionKind.SPREAD})
    for other in (shift(5, line="other"), shift(5, 0.2, worse=False), spread):
        (name,) = names(group_shifts([other]), known)
        assert name not in known


def test_of_two_at_overlapping_intervals_the_nearest_is_the_known_one() -> None:
    known = found(shift(5, interval=(4, 7)))
    (name,) = known
    later = shift(7, -0.5, step="other", interval=(7, 8))
    tonight = group_shifts([later, shift(5, interval=(4, 6))])
    named = {one.position: one.fingerprint for one in identify(tonight, known, PLAN)}
    assert named[5] == name
    assert named[7] != name


def test_a_name_that_moved_away_is_not_given_twice() -> None:
    """What was found at 17.5 is at 17.6 now; what is at 17.5 now is another regression."""
    known = found(shift(5, interval=(5, 6)))
    (name,) = known
    moved = found(shift(6, interval=(6, 6)))
    history = known[name]
    (evidence,) = moved.values()
    history.regression, history.earliest, history.latest = evidence.regression, "17.6", "17.6"
    tonight = group_shifts([shift(5), shift(6, step="other")])
    named = {one.position: one.fingerprint for one in identify(tonight, known, PLAN)}
    assert named == {6: name, 5: f"{name}-2"}


def test_positions_are_compared_by_revision() -> None:
    """A line that keeps its newest revisions begins elsewhere every night."""
    known = found(shift(5, interval=(4, 6)))
    (name,) = known
    tomorrow = plan(first=3)
    assert names(group_shifts([shift(2, interval=(2, 3))]), known, tomorrow) == [name]
    (apart,) = names(group_shifts([shift(5)]), known, tomorrow)
    assert apart != name
    gone = plan(first=10)
    assert names(group_shifts([shift(5)]), known, gone) != [name]
