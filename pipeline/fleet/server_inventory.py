"""Keep the record of rented servers correct: which exist, and what deleted ones have cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from hcloud.servers import BoundServer

from pipeline.fleet.cloud import Cloud, required
from pipeline.fleet.labels import ResourceMark
from pipeline.fleet.prices import Prices
from pipeline.storage.journal import now as present
from pipeline.storage.server_log import Life, Rent, ServerEvent, ServerEventKind, Servers, lives


class ServerInventory:
    """The record of rented servers in a results folder."""

    def __init__(
        self,
        record: Servers,
        prices: Callable[[], Prices],
        now: Callable[[], datetime] = present,
    ) -> None:
        self._record, self._prices, self.now = record, prices, now

    def lives(self) -> dict[int, Life]:
        """Return the recorded servers, existing and deleted, by number."""
        return lives(self._record.read())

    def made(self, server: BoundServer, mark: ResourceMark) -> None:
        """Record that a server exists, unless it is recorded already."""
        number = required(server.id)
        if number in self.lives():
            return
        kind, location = (
            required(required(server.server_type).name),
            required(required(server.location).name),
        )
        rent = Rent(
            number=number,
            name=required(server.name),
            type=kind,
            location=location,
            machine_class=mark.machine_class,
            night=mark.night,
            made=required(server.created),
            expires=mark.expires,
            per_hour=self._prices().hour(kind, location),
        )
        self._note(ServerEvent(at=rent.made, event=ServerEventKind.MADE, number=number, rent=rent))

    def deleting(self, number: int) -> None:
        """Record that a server is about to be deleted, in case the program is killed."""
        self._note(ServerEvent(at=self.now(), event=ServerEventKind.DELETING, number=number))

    def deleted(self, number: int, at: datetime | None = None) -> None:
        """Record that a server is deleted, and what it cost.

        ``at`` is the time of deletion; by default the time when deletion was requested, or else
        now.
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
        """Record deletions that the record lacks, after a crash or by other people.

        ``there`` are the servers found by their labels. Any other recorded server is looked up by
        its number, because a server that lost its labels still costs money.
        """
        listed = set(there)
        for number, life in self.lives().items():
            if life.ended is None and number not in listed and not cloud.exists(number):
                self.deleted(number, cloud.deleted(number))

    def _note(self, event: ServerEvent) -> None:
        self._record.append([event])
