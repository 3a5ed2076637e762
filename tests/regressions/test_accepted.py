"""Series against their last accepted levels."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime

import pytest

from pipeline.model import Regression, RegressionKind, RegressionState
from pipeline.regressions.accepted import AcceptedLevel, accepted_level, statuses
from pipeline.regressions.states import KnownRegression
from pipeline.storage.journal import Event, EventKind
from pipeline.storage.series import Series
from tests.regressions.samples import key, series, shift

LEVELS = (1000.0, 1000.0, 1000.0, 800.0, 800.0, 800.0, 700.0, 700.0)
POSITIONS = {f"17.{place}": place for place in range(len(LEVELS))}
AT = datetime(2026, 3, 9, 8, tzinfo=UTC)


def known(
    position: int,
    state: RegressionState,
    note: str = "",
    kind: RegressionKind = RegressionKind.LEVEL,
    step: str = "scan",
) -> KnownRegression:
    """A regression at a position that a person decided about."""
    found = shift(position, step=step)
    event = Event(
        at=AT,
        event=EventKind.ACKNOWLEDGED,
        fingerprint=f"fingerprint-{position}",
        by="ada",
        note=note,
    )
    return KnownRegression(
        Regression(
            fingerprint=f"fingerprint-{position}",
            line="minors",
            target="postgres",
            last_good=f"17.{position - 1}",
            first_bad=f"17.{position}",
            position=position,
            worse=True,
            shifts=(found.model_copy(update={"first_bad": f"17.{position}"}),),
            kind=kind,
            state=state,
        ),
        decided=event,
    )


def level(
    decisions: Sequence[KnownRegression], anchor: int = 0, of: Series | None = None
) -> AcceptedLevel:
    found = accepted_level(of or series(LEVELS), decisions, POSITIONS, anchor)
    assert found is not None
    return found


def test_without_a_decision_the_anchor_of_the_line_has_the_level() -> None:
    found = level([])
    assert (found.revision, found.fingerprint, found.note) == ("17.0", "", "")
    assert found.value == pytest.approx(1000, rel=0.01)
    assert level([], anchor=6).value == pytest.approx(700, rel=0.01)


def test_open_resolved_and_rejected_changes_accept_nothing() -> None:
    for state in set(RegressionState) - {
        RegressionState.ACKNOWLEDGED,
        RegressionState.WONT_FIX,
    }:
        assert level([known(3, state)]).revision == "17.0"


def test_the_newest_decision_sets_the_level_with_its_reason() -> None:
    first = known(3, RegressionState.ACKNOWLEDGED, "waits for 17.12")
    second = known(6, RegressionState.WONT_FIX, "the price of checksums")
    found = level([first])
    assert (found.revision, found.by, found.at, found.note) == (
        "17.3",
        "ada",
        AT,
        "waits for 17.12",
    )
    # Another change ends the level, whatever its state; here it is not accepted.
    suspected = known(6, RegressionState.SUSPECTED)
    assert level([first, suspected]).value == pytest.approx(800, rel=0.01)
    for both in ([first, second], [second, first]):
        assert level(both).value == pytest.approx(700, rel=0.01)
        assert level(both).note == "the price of checksums"


def test_a_decision_about_another_series_changes_nothing() -> None:
    assert level([known(3, RegressionState.ACKNOWLEDGED, step="other")]).revision == "17.0"


def test_a_decision_about_a_creep_is_the_reason_of_the_anchor() -> None:
    creep = known(3, RegressionState.ACKNOWLEDGED, "accepted", RegressionKind.CREEP)
    found = level([creep], anchor=3)
    assert (found.revision, found.note) == ("17.3", "accepted")


def test_a_slow_drift_does_not_move_the_level() -> None:
    drifting = series([1000.0 * 0.99**place for place in range(40)])
    assert level([], of=drifting).value == pytest.approx(1000 * 0.99**2, rel=0.01)


def test_a_series_without_values_at_its_level_has_none() -> None:
    early = series(LEVELS[:3])
    assert accepted_level(early, [known(3, RegressionState.WONT_FIX)], POSITIONS, 0) is None


def test_each_day_shows_its_newest_revision_against_the_level() -> None:
    one = series(LEVELS)
    # A backfill measures 17.0 once more on the day of 17.4.
    days = {run_id: date(2026, 3, 1 + int(run_id.split("-")[0])) for run_id in one.run_ids}
    days |= {f"0-{repetition}": date(2026, 3, 5) for repetition in (1, 2, 3)}
    (found,) = statuses(
        [one],
        [known(3, RegressionState.ACKNOWLEDGED)],
        {"minors": POSITIONS},
        {"minors": 0},
        days,
        {key(): 0.05},
    )
    shown = {day.day: (value.revision, value.tone) for day, value in found.days.items()}
    assert shown == {
        2: ("17.1", "better"),
        3: ("17.2", "better"),
        4: ("17.3", ""),
        5: ("17.4", ""),
        6: ("17.5", ""),
        7: ("17.6", "worse"),
        8: ("17.7", "worse"),
    }
    assert found.newest.change == pytest.approx(-0.125, abs=0.01)
