"""The record of servers: started hours are billed, and what happened twice counts once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.storage.server_log import Rent, ServerEvent, ServerEventKind, Servers, lives
from pipeline.text.units import Money

MADE = datetime(2026, 3, 1, 22, tzinfo=UTC)
RENT = Rent(
    number=42,
    name="test-1-ccx13-1",
    type="ccx13",
    location="fsn1",
    machine_class="ccx13",
    night="1",
    made=MADE,
    expires=MADE + timedelta(hours=4),
    per_hour=Money(0.025, "EUR"),
)


def event(kind: ServerEventKind, minutes: float, number: int = 42) -> ServerEvent:
    rent = RENT.model_copy(update={"number": number})
    return ServerEvent(
        at=MADE + timedelta(minutes=minutes),
        event=kind,
        number=number,
        rent=rent if kind is ServerEventKind.MADE else None,
    )


@pytest.mark.parametrize(
    ("minutes", "hours"), [(-1, 1), (0, 1), (1, 1), (60, 1), (60.1, 2), (120, 2), (600, 10)]
)
def test_every_started_hour_is_billed(minutes: float, hours: int) -> None:
    until = MADE + timedelta(minutes=minutes)
    assert RENT.hours(until) == hours
    assert RENT.cost(until) == Money(hours * 0.025, "EUR")


def test_a_life_is_what_happened_first() -> None:
    made, deleting, deleted = ServerEventKind
    events = [
        event(deleting, 1, number=7),  # of what nobody knows
        event(made, 0),
        event(made, 9),
        event(deleting, 61),
        event(deleting, 70),
        event(deleted, 70),
        event(deleted, 500),
        event(made, 0, number=43),
    ]
    known = lives(events)
    assert list(known) == [42, 43]
    assert known[42].ended == MADE + timedelta(minutes=70)
    assert known[42].cost(MADE + timedelta(days=9)) == Money(0.05, "EUR")
    assert known[43].ended is None
    assert known[43].cost(MADE + timedelta(hours=3)).amount == pytest.approx(0.075)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    record = Servers(tmp_path)
    events = [event(kind, 5 * place) for place, kind in enumerate(ServerEventKind)]
    for each in events:
        record.append([each])
    assert record.read() == events
