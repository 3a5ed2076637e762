"""The operations behind the verbs of `fleet`: quote, create, list and delete a night's servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cached_property

from pipeline.config import Config
from pipeline.fleet.cloud import Cloud
from pipeline.fleet.create import RunnerRegistry, Up
from pipeline.fleet.labels import ResourceMark, check_label, night_name, server_name
from pipeline.fleet.lock import creation_lock
from pipeline.fleet.prices import Prices
from pipeline.fleet.quote import (
    Quote,
    ServerRequest,
    check_budgets,
    in_month,
    quote,
    server_requests,
)
from pipeline.fleet.resources import ProjectResources, Swept
from pipeline.fleet.server_inventory import ServerInventory
from pipeline.model import Frozen
from pipeline.storage.journal import now as present
from pipeline.storage.server_log import Rent, Servers
from pipeline.text.errors import UserError
from pipeline.text.units import Money


class RunningServer(Frozen):
    """A server that exists: what it has cost so far, and whether it has expired."""

    rent: Rent
    hours: int
    cost: Money
    past: bool


class FleetStatus(Frozen):
    """The existing servers, oldest first, and what servers have cost this month."""

    servers: tuple[RunningServer, ...]
    month: Money
    per_month: Money | None


class Fleet:
    """The servers of a cloud project that are rented for nights.

    ``registry`` is called only when runners are needed: pricing and reaping need no GitHub token.
    ``note`` receives lines about the progress.
    """

    def __init__(
        self,
        config: Config,
        cloud: Cloud,
        registry: Callable[[], RunnerRegistry],
        note: Callable[[str], None],
        now: Callable[[], datetime] = present,
    ) -> None:
        self._settings, self._classes = config.fleet, config.machine_class
        self._cloud, self._registry, self._note, self._now = cloud, registry, note, now
        self._results = config.paths.results
        self._inventory = ServerInventory(Servers(self._results), lambda: self.prices, now)
        self._resources = ProjectResources(cloud, self._settings.name, self._inventory, note)

    @cached_property
    def prices(self) -> Prices:
        """The cloud's current prices."""
        return Prices(self._cloud.pricing())

    def quote(self, night: str = "", seconds: float = 0.0) -> Quote:
        """Return the price of a night's servers, as if none existed yet.

        The duration is in seconds; 0 means the time to live of the configuration.
        """
        return self._priced(self._requests, night, seconds)

    def up(self, night: str, seconds: float = 0.0) -> list[str]:
        """Create the missing servers of a night; return the names of all of them.

        Raises UserError, before anything is created, if the missing servers exceed a budget.
        """
        check_label("the night", night)
        for each in self._requests:
            check_label("the class", each.machine_class)
        with creation_lock(self._results, self._cloud.policy):
            there = self._resources.servers()
            missing = self._missing(night, list(there))
            if any(request.count for request in missing):
                check_budgets(self._priced(missing, night, seconds), self._settings)
            mark = ResourceMark(night=night, expires=self._expires(night, seconds))
            up = Up(self._resources, self._registry(), self._settings, mark, self._note)
            return up.make(self._requests, there)

    def down(self, night: str) -> Swept:
        """Delete all servers and other resources of a night."""
        check_label("the night", night)
        swept = self._resources.sweep(lambda mark: mark.night == night, night)
        try:
            self._registry().remove(f"{night_name(self._settings.name, night)}-")
        except UserError as error:
            self._note(
                "runners could not be removed from GitHub, which removes them itself after "
                f"some days: {error}"
            )
        return swept

    def reap(self) -> Swept:
        """Delete all servers and other resources that have expired."""
        moment = self._now()
        return self._resources.sweep(lambda mark: mark.expires <= moment)

    def status(self) -> FleetStatus:
        """Return the existing servers with their costs; bring the record of servers up to date."""
        self._resources.servers()
        moment, lives = self._now(), self._inventory.lives().values()
        standing = tuple(
            RunningServer(
                rent=each.rent,
                hours=each.rent.hours(moment),
                cost=each.rent.cost(moment),
                past=each.rent.expires <= moment,
            )
            for each in lives
            if each.ended is None
        )
        currency = self.prices.currency
        costs = [each.cost(moment) for each in in_month(lives, moment)]
        month = sum(cost.amount for cost in costs if cost.currency == currency)
        return FleetStatus(
            servers=standing,
            month=Money(month, currency),
            per_month=self._settings.per_month,
        )

    @cached_property
    def _requests(self) -> tuple[ServerRequest, ...]:
        return server_requests(self._classes, self._settings, self.prices)

    def _priced(self, wanted: Sequence[ServerRequest], night: str, seconds: float) -> Quote:
        return quote(
            wanted,
            seconds or self._settings.ttl,
            self._inventory.lives().values(),
            night,
            self._now(),
            self.prices.currency,
        )

    def _missing(self, night: str, there: Sequence[str]) -> list[ServerRequest]:
        """Return which requested servers do not exist yet."""
        return [
            request.model_copy(
                update={
                    "count": sum(
                        server_name(self._settings.name, night, request.machine_class, number)
                        not in there
                        for number in range(1, request.count + 1)
                    )
                }
            )
            for request in self._requests
        ]

    def _expires(self, night: str, seconds: float) -> datetime:
        """Return when a night's servers expire, the same time for all of them."""
        known = [each.mark.expires for each in self._resources.owned(night)]
        expires = min(known, default=self._now() + timedelta(seconds=seconds or self._settings.ttl))
        if expires <= self._now():
            raise UserError(
                f"the servers of the night {night} are past their time to live; delete them "
                f"with `nightshift fleet down {night}`, or choose another name for the night"
            )
        return expires
