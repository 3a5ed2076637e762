"""The anchor of each line: the position from which changes count that people have not accepted."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from pipeline.measure.plan import Line, Plan
from pipeline.model import RegressionKind, RegressionState
from pipeline.regressions.states import KnownRegressions
from pipeline.text.errors import UserError

ACCEPTED = {RegressionState.ACKNOWLEDGED, RegressionState.WONT_FIX, RegressionState.RESOLVED}
"""States of a creep whose newest revision is the next anchor of its line."""

Anchors = Mapping[str, int]
"""The position of each line's anchor, by the line's name; 0 for a line that is missing here."""


def anchors(plan: Plan, known: KnownRegressions, since: str = "") -> Anchors:
    """Return the anchor of each line: the newest accepted level, or else the configured ``since``.

    A decision about a creep accepts the level that its line had then. ``since`` is a revision or a
    date; a line without such a revision begins at its first. Raises UserError if no line has it.
    """
    day = _day(since)
    found = {line.name: _first_since(line, since, day) for line in plan.lines}
    if since and all(place is None for place in found.values()):
        raise UserError(
            f"[detect] creep_since = {since!r}: no line has a revision of this name, or of this "
            "date or later; `nightshift plan` lists the revisions"
        )
    places = {name: place or 0 for name, place in found.items()}
    for line in plan.lines:
        for history in known.values():
            one = history.regression
            if (one.line, one.kind) == (line.name, RegressionKind.CREEP) and (
                history.state in ACCEPTED
            ):
                accepted = line.positions.get(one.first_bad, 0)
                places[line.name] = max(places[line.name], accepted)
    return places


def _day(since: str) -> date | None:
    try:
        return date.fromisoformat(since)
    except ValueError:
        return None


def _first_since(line: Line, since: str, day: date | None) -> int | None:
    """Return the position of ``since`` or, if it is a date, of the first revision from ``day`` on.

    None if the line has no such revision.
    """
    if day is None:
        return line.positions.get(since)
    return next(
        (
            place
            for place, revision in enumerate(line.revisions)
            if revision.at is not None and revision.at.date() >= day
        ),
        None,
    )
