"""The record of rented servers: when each was created and deleted, and what it cost.

The record is an append-only file, ``results/fleet.jsonl``, with one JSON object a line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from pipeline.files.atomic_write import write_atomically
from pipeline.files.jsonl_log import Appended
from pipeline.model import Frozen
from pipeline.text.units import Money

FILE = "fleet.jsonl"
"""The name of the record in the results folder."""

REAPED = "reaped"
"""The name of the file in the results folder with the time of the last complete reaping."""

HOUR = 3600.0
"""Seconds in an hour, the unit of billing."""


class Rent(Frozen):
    """The terms of a rented server: creation time, latest deletion time, price per hour.

    ``number`` is its id, which is never reused.
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
        """Return the hours to pay for until a time; each begun hour is billed in full."""
        return max(1, math.ceil((until - self.made).total_seconds() / HOUR))

    def cost(self, until: datetime) -> Money:
        """Return what the server costs from its creation until a time."""
        return Money(self.hours(until) * self.per_hour.amount, self.per_hour.currency)


class ServerEventKind(StrEnum):
    """What happened to a rented server; ``DELETING`` is recorded before the server is deleted."""

    MADE = "made"
    DELETING = "deleting"
    DELETED = "deleted"


class ServerEvent(Frozen):
    """One line of the record of servers: what happened to the server with this number.

    ``rent`` is set for the kind ``MADE``; ``hours`` and ``price`` are the final bill.
    """

    at: datetime
    event: ServerEventKind
    number: int
    rent: Rent | None = None
    hours: int | None = None
    price: Money | None = None


class Life(Frozen):
    """The life of a rented server: when it was created and deleted, and what it cost.

    ``asked`` is the time of the last request to delete it, ``ended`` the time of its deletion.
    """

    rent: Rent
    asked: datetime | None = None
    ended: datetime | None = None

    def cost(self, until: datetime) -> Money:
        """Return the final cost of a server, or its cost until a time if it still exists."""
        return self.rent.cost(self.ended or until)


class Servers(Appended[ServerEvent]):
    """The record of all rented servers of a results folder."""

    def __init__(self, results: Path) -> None:
        super().__init__(results / FILE, ServerEvent, "an event of a server")


def lives(events: Iterable[ServerEvent]) -> dict[int, Life]:
    """Return the life of each rented server, by number, in the order of creation."""
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


def note_reaped(results: Path, at: datetime) -> None:
    """Record the time of a reaping that deleted all servers past their time to live."""
    results.mkdir(parents=True, exist_ok=True)
    write_atomically(results / REAPED, f"{at.isoformat()}\n")


def last_reaped(results: Path) -> datetime | None:
    """Return the time of the last complete reaping on this machine; None without one."""
    try:
        return datetime.fromisoformat((results / REAPED).read_text().strip())
    except (OSError, ValueError):
        return None
