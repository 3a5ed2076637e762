"""The record of servers that were made for nights: what was made and deleted, and what it cost.

One JSON object a line in ``results/fleet.jsonl``, only ever appended to, as the journal beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from pipeline.appended import Appended
from pipeline.model import Frozen
from pipeline.units import Money

FILE = "fleet.jsonl"
"""Its name in the results folder."""

HOUR = 3600.0
"""Seconds of what is billed at once."""


class Rent(Frozen):
    """A server: since when there is one, when it is past its time to live, what an hour costs.

    ``number`` is its id, which no other server ever has.
    """

    number: int
    name: str
    type: str
    location: str
    machine_class: str
    night: str
    made: datetime
    expires: datetime
    per_hour: Money

    def hours(self, until: datetime) -> int:
        """Return the started hours until a moment: each is billed whole, switched off or not."""
        return max(1, math.ceil((until - self.made).total_seconds() / HOUR))

    def cost(self, until: datetime) -> Money:
        """Return what it costs until a moment."""
        return Money(self.hours(until) * self.per_hour.amount, self.per_hour.currency)


class ServerEventKind(StrEnum):
    """What happens to a server. ``DELETING`` is said before, so that the moment is known."""

    MADE = "made"
    DELETING = "deleting"
    DELETED = "deleted"


class ServerEvent(Frozen):
    """One line of the record: what happened to the server of this ``number``.

    ``rent`` is there when it was made; ``hours`` and ``price`` are what was billed in the end.
    """

    at: datetime
    event: ServerEventKind
    number: int
    rent: Rent | None = None
    hours: int | None = None
    price: Money | None = None


class Life(Frozen):
    """What is known of a server.

    ``asked`` is when it was last to be deleted, ``ended`` when it was.
    """

    rent: Rent
    asked: datetime | None = None
    ended: datetime | None = None

    def cost(self, until: datetime) -> Money:
        """Return what it cost, or costs until a moment if it is still there."""
        return self.rent.cost(self.ended or until)


class Servers(Appended[ServerEvent]):
    """The record of a results folder."""

    def __init__(self, results: Path) -> None:
        super().__init__(results / FILE, ServerEvent, "an event of a server")


def lives(events: Iterable[ServerEvent]) -> dict[int, Life]:
    """Return the servers of a record by their numbers, in the order in which they were made."""
    known: dict[int, Life] = {}
    for event in events:
        life = known.get(event.number)
        if life is None:
            if event.rent is not None:
                known[event.number] = Life(rent=event.rent)
            continue
        if event.event is ServerEventKind.DELETING:
            known[event.number] = life.model_copy(update={"asked": event.at})
        elif event.event is ServerEventKind.DELETED and life.ended is None:
            known[event.number] = life.model_copy(update={"ended": event.at})
    return known
