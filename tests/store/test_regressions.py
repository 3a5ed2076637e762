"""The tables of regressions, on every kind of store."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime

from sqlalchemy import Engine

from pipeline.analyse.regressions import group_shifts
from pipeline.journal import Event, EventKind
from pipeline.store.regressions import RegressionRow, stored_regressions, write_regressions
from tests.analyse.samples import shift

AT = datetime(2026, 3, 1, 4, 30, tzinfo=UTC)


def row(position: int, *events: Event) -> RegressionRow:
    endless = shift(position, math.inf).model_copy(update={"effect_low": -math.inf})
    (found,) = group_shifts([endless])
    return RegressionRow(found, "noise", "a note", date(2031, 1, 31), list(events))


def event(fingerprint: str, kind: EventKind) -> Event:
    return Event(at=AT, event=kind, fingerprint=fingerprint, experiment="x", blocks=7, minutes=1.5)


def test_what_is_written_is_read(store: Engine) -> None:
    name = row(5).regression.fingerprint
    first = row(5, event(name, EventKind.FOUND), event(name, EventKind.REJECTED))
    second = row(9)
    write_regressions(store, [first, second])
    expected = sorted([first, second], key=lambda one: one.regression.fingerprint)
    assert stored_regressions(store) == expected
    write_regressions(store, [second])
    assert stored_regressions(store) == [second]
    write_regressions(store, [])
    assert stored_regressions(store) == []
