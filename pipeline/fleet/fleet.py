"""The fleet of a configuration: what its verbs do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cached_property

from pipeline.config import Config
from pipeline.errors import UserError
from pipeline.fleet.alone import alone
from pipeline.fleet.books import Books
from pipeline.fleet.cloud import Cloud
from pipeline.fleet.estate import Estate, Swept
from pipeline.fleet.labels import Mark, check_label, night_name, server_name
from pipeline.fleet.prices import Prices
from pipeline.fleet.quote import Quote, Wish, check_budgets, in_month, quote, wishes
from pipeline.fleet.up import Registry, Up
from pipeline.journal import now as present
from pipeline.model import Frozen
from pipeline.servers import Rent, Servers
from pipeline.units import Money


class Standing(Frozen):
    """A server that is there: what it cost so far, and whether it is past its time to live."""

    rent: Rent
    hours: int
    cost: Money
    past: bool


class Status(Frozen):
    """What there is, oldest first, and what the servers of this month cost so far."""

    servers: tuple[Standing, ...]
    month: Money
    per_month: Money | None


class Fleet:
    """Servers of a project that are made for nights.

    ``registry`` is asked for only when runners are needed: pricing and reaping take no token of
    GitHub. ``tell`` is given a line of what goes on.
    """

    def __init__(
        self,
        config: Config,
        cloud: Cloud,
        registry: Callable[[], Registry],
        tell: Callable[[str], None],
        now: Callable[[], datetime] = present,
    ) -> None:
        self._settings, self._classes = config.fleet, config.machine_class
        self._cloud, self._registry, self._tell, self._now = cloud, registry, tell, now
        self._results = config.paths.results
        self._books = Books(Servers(self._results), lambda: self.prices, now)
        self._estate = Estate(cloud, self._settings.name, self._books, tell)

    @cached_property
    def prices(self) -> Prices:
        """What everything costs now."""
        return Prices(self._cloud.pricing())

    def quote(self, night: str = "", seconds: float = 0.0) -> Quote:
        """Price what the classes ask for, without what is there of the night already.

        For so many seconds; 0 for the time to live of the configuration.
        """
        return self._priced(self._wishes, night, seconds)

    def up(self, night: str, seconds: float = 0.0) -> list[str]:
        """Make the servers of a night and return their names; those that are there stay.

        Raises UserError, before anything is made, where what is missing is beyond a budget.
        """
        check_label("the night", night)
        for each in self._wishes:
            check_label("the class", each.machine_class)
        with alone(self._results, self._cloud.pace):
            there = self._estate.servers()
            missing = self._missing(night, list(there))
            if any(wish.count for wish in missing):
                check_budgets(self._priced(missing, night, seconds), self._settings)
            mark = Mark(night=night, expires=self._expires(night, seconds))
            up = Up(self._estate, self._registry(), self._settings, mark, self._tell)
            return up.make(self._wishes, there)

    def down(self, night: str) -> Swept:
        """Delete everything of a night, and take its runners back; again, what was left."""
        check_label("the night", night)
        swept = self._estate.sweep(lambda mark: mark.night == night, night)
        try:
            self._registry().remove(f"{night_name(self._settings.name, night)}-")
        except UserError as error:
            self._tell(f"runners stay registered until GitHub forgets them: {error}")
        return swept

    def reap(self) -> Swept:
        """Delete everything that is past its time to live."""
        moment = self._now()
        return self._estate.sweep(lambda mark: mark.expires <= moment)

    def status(self) -> Status:
        """Return what there is and what it costs, and note what happened meanwhile."""
        self._estate.servers()
        moment, lives = self._now(), self._books.lives().values()
        standing = tuple(
            Standing(
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
        return Status(
            servers=standing,
            month=Money(month, currency),
            per_month=self._settings.per_month,
        )

    @cached_property
    def _wishes(self) -> tuple[Wish, ...]:
        return wishes(self._classes, self._settings, self.prices)

    def _priced(self, wanted: Sequence[Wish], night: str, seconds: float) -> Quote:
        return quote(
            wanted,
            seconds or self._settings.ttl,
            self._books.lives().values(),
            night,
            self._now(),
            self.prices.currency,
        )

    def _missing(self, night: str, there: Sequence[str]) -> list[Wish]:
        """Return the wishes without the servers that are there."""
        return [
            wish.model_copy(
                update={
                    "count": sum(
                        server_name(self._settings.name, night, wish.machine_class, number)
                        not in there
                        for number in range(1, wish.count + 1)
                    )
                }
            )
            for wish in self._wishes
        ]

    def _expires(self, night: str, seconds: float) -> datetime:
        """Return when a night's servers expire: all at once, also those that are made later."""
        known = [each.mark.expires for each in self._estate.owned(night)]
        expires = min(known, default=self._now() + timedelta(seconds=seconds or self._settings.ttl))
        if expires <= self._now():
            raise UserError(
                f"the servers of the night {night} are past their time to live; delete them with "
                f"`nightshift fleet down {night}`, or give another name"
            )
        return expires
