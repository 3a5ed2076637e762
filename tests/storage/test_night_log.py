"""The record of nights: what was written is read; what a night raised is counted as new."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.model import RegressionState
from pipeline.regressions.grouping import group_shifts
from pipeline.storage.journal import Event, EventKind
from pipeline.storage.night_log import Night, Nights, events_of_night
from pipeline.text.errors import UserError
from pipeline.text.units import Money
from tests.regressions.samples import shift

AT = datetime(2026, 3, 1, 2, tzinfo=UTC)
NIGHT = Night(
    began=AT,
    ended=AT + timedelta(hours=1),
    preflight={"turbo": "on"},
    runs=27,
    failed_steps=0,
    unbuilt=1,
    queue=3,
    series=28,
    regressions={RegressionState.WONT_FIX: 1},
    stages={"run": 3000.5},
    spent={"runs": 2900.0},
    budget={"confirm": 300.0},
    spent_so_far={"nights": 50.0},
    money=Money(0.34, "EUR"),
    alarms={"not measured again": 2},
)
FAILED = Night(began=AT, ended=AT, error="the disk is full")


def test_what_was_written_is_read(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    assert nights.read() == []
    nights.append([NIGHT])
    nights.append([FAILED])
    whole = nights.path.read_bytes()
    nights.path.write_bytes(whole[:-5])
    assert nights.read() == [NIGHT], "an incomplete line that a crash left is skipped"
    nights.append([FAILED])
    assert nights.read() == [NIGHT, FAILED]
    assert nights.path.read_bytes() == whole
    assert NIGHT.seconds == 3600.0


def test_what_was_not_known_is_not_nought(tmp_path: Path) -> None:
    Nights(tmp_path).append([FAILED])
    (read,) = Nights(tmp_path).read()
    assert (read.queue, read.failed_steps, read.regressions) == (None, None, {})
    assert "queue" not in Nights(tmp_path).path.read_text()


def test_a_line_that_is_no_night_is_named(tmp_path: Path) -> None:
    Nights(tmp_path).path.write_text('{"began": "of the future"}\n')
    with pytest.raises(
        UserError,
        match=r"nights\.jsonl:1: this release of nightshift cannot read a night",
    ):
        Nights(tmp_path).read()


def found(fingerprint: str, hours: float, worse: bool = True) -> Event:
    (one,) = group_shifts([shift(5, -0.2 if worse else 0.2, worse=worse)])
    return Event(
        at=AT + timedelta(hours=hours),
        event=EventKind.FOUND,
        fingerprint=fingerprint,
        regression=one.model_copy(update={"fingerprint": fingerprint}),
    )


def happened(event: EventKind, fingerprint: str, hours: float) -> Event:
    return Event(at=AT + timedelta(hours=hours), event=event, fingerprint=fingerprint)


def test_a_night_records_what_it_raised_and_what_it_confirmed() -> None:
    events = [
        found("old", -24),
        found("before", -24),
        happened(EventKind.CONFIRMED, "before", -23),
        found("old", 0.5),
        found("new", 0.5),
        found("better", 0.5, worse=False),
        happened(EventKind.CONFIRMED, "old", 0.7),
        happened(EventKind.CONFIRMED, "better", 0.7),
        happened(EventKind.REJECTED, "new", 0.8),
        found("later", 24),
    ]
    reported = events_of_night(NIGHT, events)
    assert reported == {EventKind.FOUND: {"new"}, EventKind.CONFIRMED: {"old"}}
