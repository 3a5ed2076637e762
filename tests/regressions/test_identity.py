"""A regression keeps its name while the evidence for it grows and moves."""

from __future__ import annotations

from datetime import UTC, datetime

from pipeline.measure.plan import Line, Plan
from pipeline.model import Regression, RegressionKind, Shift
from pipeline.regressions.grouping import group_shifts
from pipeline.regressions.reconcile import (
    at_current_positions,
    bounds,
    identify,
    matching_fingerprints,
)
from pipeline.regressions.states import KnownRegressions, known_regressions
from pipeline.storage.journal import Event, EventKind
from tests.regressions.samples import shift
from tests.site.page_store import revision


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


def found(*shifts: Shift, of: Plan = PLAN) -> KnownRegressions:
    """What the journal knows after a night that found these."""
    events = []
    for one in group_shifts(shifts):
        between = bounds(one, of)
        events.append(
            Event(
                at=datetime(2026, 3, 1, tzinfo=UTC),
                event=EventKind.FOUND,
                fingerprint=one.fingerprint,
                regression=one,
                **between._asdict(),
            )
        )
    return known_regressions(events)


def names(regressions: list[Regression], known: KnownRegressions, of: Plan = PLAN) -> list[str]:
    return [one.fingerprint for one in identify(regressions, known, of)]


def test_a_whole_fingerprint_is_itself_though_another_begins_so() -> None:
    known = ("abc", "abc-2", "abf")
    assert matching_fingerprints("abc", known) == ["abc"]
    assert matching_fingerprints("ab", known) == list(known)
    assert matching_fingerprints("abf", known) == ["abf"]
    assert matching_fingerprints("x", known) == []


def test_the_bounds_are_those_of_the_surest_series() -> None:
    (one,) = group_shifts([shift(6, interval=(4, 7)), shift(5, interval=(4, 6), step="other")])
    assert bounds(one, PLAN) == ("17.3", "17.4", "17.6")
    (first,) = group_shifts([shift(1, interval=(0, 3))])
    assert bounds(first, PLAN) == ("", "17.0", "17.3")


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
    history.regression, history.bounds = evidence.regression, evidence.bounds
    tonight = group_shifts([shift(5), shift(6, step="other")])
    named = {one.position: one.fingerprint for one in identify(tonight, known, PLAN)}
    assert named == {6: name, 5: f"{name}-2"}


def test_what_is_measured_later_in_the_gap_before_an_interval_belongs_to_it() -> None:
    few = ["17.0", "17.4", "17.8", "17.12", "17.16"]
    sparse, dense = (
        Plan(
            lines=(
                Line(
                    name="minors",
                    target="postgres",
                    revisions=tuple(map(revision, labels)),
                    cells=(),
                ),
            ),
            repetitions=1,
        )
        for labels in (few, [f"17.{minor}" for minor in range(17)])
    )
    labelled = {"last_good": "17.4", "first_bad": "17.8"}
    (one,) = group_shifts([shift(2, interval=(2, 3)).model_copy(update=labelled)])
    event = Event(
        at=datetime(2026, 3, 1, tzinfo=UTC),
        event=EventKind.FOUND,
        fingerprint=one.fingerprint,
        regression=one,
        **bounds(one, sparse)._asdict(),
    )
    # Older journals do not say which revision was before the earliest.
    for known in (
        known_regressions([event.model_copy(update={"before": ""})]),
        known_regressions([event]),
    ):
        for place in (5, 7, 12):
            assert names(group_shifts([shift(place)]), known, dense) == [one.fingerprint]
        for place in (4, 13):
            assert names(group_shifts([shift(place)]), known, dense) != [one.fingerprint]
    now = at_current_positions(one, dense)
    assert now is not None
    (moved,) = now.shifts
    assert (now.position, moved.position, moved.earliest, moved.latest) == (8, 8, 8, 9)
    # What stands behind its last good revision is in the place of one that was replaced.
    replaced = now.model_copy(
        update={"shifts": (moved.model_copy(update={"first_bad": "17.99"}),), "last_good": "17.4"}
    )
    elsewhere = at_current_positions(replaced, dense)
    assert elsewhere is not None
    assert elsewhere.shifts[0].position == 5
    assert at_current_positions(now, plan(first=10)) is None, "it left the line"


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
