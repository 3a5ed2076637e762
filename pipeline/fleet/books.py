"""The record of servers kept true: what is there is in it, and what is gone has its price."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from hcloud.servers import BoundServer

from pipeline.fleet.cloud import Cloud, certain
from pipeline.fleet.labels import Mark
from pipeline.fleet.prices import Prices
from pipeline.journal import now as present
from pipeline.servers import Life, Rent, ServerEvent, ServerEventKind, Servers, lives


class Books:
    """The record of a results folder. ``prices`` is asked for only when they are needed."""

    def __init__(
        self,
        record: Servers,
        prices: Callable[[], Prices],
        now: Callable[[], datetime] = present,
    ) -> None:
        self._record, self._prices, self.now = record, prices, now

    def lives(self) -> dict[int, Life]:
        """Return the servers that are known, by their numbers."""
        return lives(self._record.read())

    def made(self, server: BoundServer, mark: Mark) -> None:
        """Note a server that is there, once."""
        number = certain(server.id)
        if number in self.lives():
            return
        kind, location = (
            certain(certain(server.server_type).name),
            certain(certain(server.location).name),
        )
        rent = Rent(
            number=number,
            name=certain(server.name),
            type=kind,
            location=location,
            machine_class=mark.machine_class,
            night=mark.night,
            made=certain(server.created),
            expires=mark.expires,
            per_hour=self._prices().hour(kind, location),
        )
        self._note(ServerEvent(at=rent.made, event=ServerEventKind.MADE, number=number, rent=rent))

    def deleting(self, number: int) -> None:
        """Note that a server is about to be deleted: should we be killed, the moment is known."""
        self._note(ServerEvent(at=self.now(), event=ServerEventKind.DELETING, number=number))

    def deleted(self, number: int, at: datetime | None = None) -> None:
        """Note that a server is gone, and what it cost.

        It is so since ``at``, since it was to be deleted, or by now.
        """
        life = self.lives().get(number)
        if life is None or life.ended is not None:
            return
        ended = at or life.asked or self.now()
        self._note(
            ServerEvent(
                at=ended,
                event=ServerEventKind.DELETED,
                number=number,
                hours=life.rent.hours(ended),
                price=life.rent.cost(ended),
            )
        )

    def close(self, there: Iterable[int], cloud: Cloud) -> None:
        """Note what is gone that was not noted: we were killed, or others deleted it.

        ``there`` are the servers that were listed; the others are asked for one by one, as one
        whose labels somebody took off is still paid for.
        """
        listed = set(there)
        for number, life in self.lives().items():
            if life.ended is None and number not in listed and not cloud.exists(number):
                self.deleted(number, cloud.deleted(number))

    def _note(self, event: ServerEvent) -> None:
        self._record.append([event])
