"""The regressions of the store: written anew whenever the journal or the detection changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from sqlalchemy import Engine, delete, insert, select

from pipeline.journal import Event
from pipeline.model import Regression
from pipeline.store import schema

_TOLD = ("at", "event", "by", "note", "expires", "reason", "experiment", "blocks", "minutes")
"""What the store tells of an event. The evidence of each is in the journal."""


class RegressionRow(NamedTuple):
    """A regression with its state, the reason and note of the decision, and what happened."""

    regression: Regression
    reason: str
    note: str
    expires: date | None
    events: Sequence[Event]


def write_regressions(store: Engine, rows: Sequence[RegressionRow]) -> None:
    """Put these in place of all regressions that the store holds."""
    with store.begin() as connection:
        connection.execute(delete(schema.regression_event))
        connection.execute(delete(schema.regression))
        events = [
            _event(row.regression.fingerprint, place, event)
            for row in rows
            for place, event in enumerate(row.events)
        ]
        if rows:
            connection.execute(insert(schema.regression), [_regression(row) for row in rows])
        if events:
            connection.execute(insert(schema.regression_event), events)


def stored_regressions(store: Engine) -> list[RegressionRow]:
    """Return the regressions of the store, by line and fingerprint."""
    with store.connect() as connection:
        found = connection.execute(select(schema.regression)).all()
        events = connection.execute(
            select(schema.regression_event).order_by(schema.regression_event.c.place)
        ).all()
    happened: dict[str, list[Event]] = {row.fingerprint: [] for row in found}
    for row in events:
        happened[row.regression].append(
            Event(
                fingerprint=row.regression,
                **{name: getattr(row, name) for name in _TOLD},
            )
        )
    rows = [
        RegressionRow(
            regression=Regression.model_validate_json(json.dumps(row.evidence)),
            reason=row.reason,
            note=row.note,
            expires=row.expires,
            events=happened[row.fingerprint],
        )
        for row in found
    ]
    # Sorted here: databases differ in what they take for alphabetical.
    return sorted(rows, key=lambda row: (row.regression.line, row.regression.fingerprint))


def _regression(row: RegressionRow) -> dict[str, object]:
    found = row.regression
    return {
        "fingerprint": found.fingerprint,
        "target": found.target,
        "line": found.line,
        "kind": found.kind.value,
        "worse": found.worse,
        "last_good": found.last_good,
        "first_bad": found.first_bad,
        "state": found.state.value,
        "reason": row.reason,
        "note": row.note,
        "expires": row.expires,
        "evidence": json.loads(found.model_dump_json()),
    }


def _event(fingerprint: str, place: int, event: Event) -> dict[str, object]:
    told = {name: getattr(event, name) for name in _TOLD}
    return {"regression": fingerprint, "place": place, **told, "event": event.event.value}
