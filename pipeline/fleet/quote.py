"""What a night's servers will cost, and whether the budgets allow it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from pipeline.config import ClassSection, FleetSection
from pipeline.errors import UserError
from pipeline.fleet.prices import Prices
from pipeline.model import Frozen
from pipeline.servers import HOUR, Life
from pipeline.units import Money, counted, show_money


class Wish(Frozen):
    """Servers of a class.

    ``places`` are the types and locations that they may be of, in the order of preference, and
    ``dearest`` what an hour of one costs at most.
    """

    machine_class: str
    count: int
    runner_labels: tuple[str, ...]
    places: tuple[tuple[str, str], ...]
    dearest: Money

    def cost(self, hours: int) -> Money:
        """Return what all of them cost in so many hours, at most."""
        return Money(self.count * hours * self.dearest.amount, self.dearest.currency)


class Quote(Frozen):
    """What a night will cost at most, if all of its servers stay until they expire.

    ``night`` is what the night's own servers that are there already cost or will, ``month`` those
    that were made in this calendar month, both counted to when they expire.
    """

    wishes: tuple[Wish, ...]
    hours: int
    total: Money
    night: Money
    month: Money


def wishes(
    classes: Iterable[ClassSection], settings: FleetSection, prices: Prices
) -> tuple[Wish, ...]:
    """Return what the classes ask for. Raises UserError where that cannot be."""
    wanted = tuple(_wish(each, settings, prices) for each in classes if each.server_type)
    if not wanted:
        raise UserError("no [[class]] has a server_type, so there is no server to make; name one")
    return wanted


def quote(
    wanted: Sequence[Wish],
    seconds: float,
    lives: Iterable[Life],
    night: str,
    now: datetime,
    currency: str,
) -> Quote:
    """Price the servers of a night for a life of so many seconds: every started hour is billed."""
    hours = math.ceil(seconds / HOUR)
    known = [each for each in lives if each.rent.per_hour.currency == currency]
    return Quote(
        wishes=tuple(wanted),
        hours=hours,
        total=_sum((each.cost(hours) for each in wanted), currency),
        night=_sum((reserved(each, now) for each in known if each.rent.night == night), currency),
        month=_sum((reserved(each, now) for each in in_month(known, now)), currency),
    )


def in_month(lives: Iterable[Life], now: datetime) -> list[Life]:
    """Return the servers that were made in the calendar month of a moment, in UTC."""
    return [each for each in lives if _month(each.rent.made) == _month(now)]


def reserved(life: Life, now: datetime) -> Money:
    """Return what a server cost or, while it is there, will have cost when it expires."""
    return life.cost(max(now, life.rent.expires))


def check_budgets(asked: Quote, settings: FleetSection) -> None:
    """Raise UserError, with the sum, where a quote is beyond a budget or there is none."""
    for name, spent, budget in (
        ("per_night", asked.night, settings.per_night),
        ("per_month", asked.month, settings.per_month),
    ):
        if budget is None:
            raise UserError(
                f"{name} is not set in [fleet], and nothing is made without a budget; this night "
                f"costs up to {show_money(asked.total)}"
            )
        if budget.currency != asked.total.currency:
            raise UserError(
                f"{name} in [fleet] is in {budget.currency}, and Hetzner Cloud asks for "
                f"{asked.total.currency}; write it in that"
            )
        total = Money(spent.amount + asked.total.amount, budget.currency)
        if total.amount > budget.amount:
            before = f" and {show_money(spent)} before" if spent.amount else ""
            raise UserError(
                f"{counted(sum(wish.count for wish in asked.wishes), 'server')} for "
                f"{asked.hours} h cost up to {show_money(asked.total)}{before}: with "
                f"{show_money(total)} beyond the {show_money(budget)} of {name} in [fleet]; "
                "nothing was made"
            )


def _wish(each: ClassSection, settings: FleetSection, prices: Prices) -> Wish:
    types = (each.server_type, *each.instead)
    for kind in types:
        prices.check(kind)
    places = prices.places(types, settings.locations)
    if not places:
        raise UserError(
            f"there is no {' or '.join(types)} in {', '.join(settings.locations)}; name other "
            "locations in [fleet]"
        )
    return Wish(
        machine_class=each.name,
        count=each.count,
        runner_labels=each.labels,
        places=tuple(places),
        dearest=max((prices.hour(*place) for place in places), key=lambda hour: hour.amount),
    )


def _sum(costs: Iterable[Money], currency: str) -> Money:
    return Money(math.fsum(cost.amount for cost in costs), currency)


def _month(at: datetime) -> tuple[int, int]:
    moment = at.astimezone(UTC)
    return moment.year, moment.month
