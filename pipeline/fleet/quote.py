"""What the servers of a night cost, and whether the budget allows it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from pipeline.config import ClassSection, FleetSection
from pipeline.fleet.prices import Prices
from pipeline.model import Frozen
from pipeline.storage.server_log import HOUR, Life
from pipeline.text.errors import UserError
from pipeline.text.units import Money, plural, show_duration, show_money


class QuoteRefusedError(UserError):
    """A night that its budget, its time to live or the capacity of the cloud does not allow."""


class ServerRequest(Frozen):
    """A request for some servers of a machine class.

    ``places`` are the available types and locations in the order of preference; ``dearest`` is the
    highest hourly price of one server. ``seconds`` is how long its steps are expected to take on
    each server, if known.
    """

    machine_class: str
    count: int
    runner_labels: tuple[str, ...]
    places: tuple[tuple[str, str], ...]
    dearest: Money
    seconds: float = 0.0

    def cost(self, hours: int) -> Money:
        """Return the highest cost of all servers of the request for a number of hours."""
        return Money(self.count * hours * self.dearest.amount, self.dearest.currency)


class Quote(Frozen):
    """What a night costs at most, if all of its servers exist until they expire.

    ``night`` is the cost of the servers already created for the night, ``month`` that of those
    created in this calendar month, both up to their expiry.
    """

    server_requests: tuple[ServerRequest, ...]
    hours: int
    total: Money
    night: Money
    month: Money


def server_requests(
    classes: Iterable[ClassSection],
    settings: FleetSection,
    prices: Prices,
    sold_out: Collection[tuple[str, str]] = (),
    work: Mapping[str, float] | None = None,
) -> tuple[ServerRequest, ...]:
    """Return the servers that the machine classes need.

    ``work`` limits them to the classes in it, and has the expected seconds of their steps.
    ``sold_out`` are the types and locations without capacity. Raises UserError if no class has
    rented servers or a server type is not offered, and QuoteRefusedError if one is sold out.
    """
    rented = [each for each in classes if each.server_type]
    if not rented:
        raise UserError(
            "no [[class]] has a server_type, so there is no server to create; set server_type"
        )
    return tuple(
        _server_request(each, settings, prices, sold_out, (work or {}).get(each.name, 0.0))
        for each in rented
        if work is None or each.name in work
    )


def quote(
    wanted: Sequence[ServerRequest],
    seconds: float,
    lives: Iterable[Life],
    night: str,
    now: datetime,
    currency: str,
) -> Quote:
    """Price the servers of a night that live for ``seconds``; each begun hour is billed."""
    hours = math.ceil(seconds / HOUR)
    known = [each for each in lives if each.rent.per_hour.currency == currency]
    return Quote(
        server_requests=tuple(wanted),
        hours=hours,
        total=_sum((each.cost(hours) for each in wanted), currency),
        night=_sum((reserved(each, now) for each in known if each.rent.night == night), currency),
        month=_sum((reserved(each, now) for each in in_month(known, now)), currency),
    )


def in_month(lives: Iterable[Life], now: datetime) -> list[Life]:
    """Return the servers created in the same calendar month as a time (UTC)."""
    return [each for each in lives if _month(each.rent.made) == _month(now)]


def reserved(life: Life, now: datetime) -> Money:
    """Return what a server has cost, or will cost at most until it expires."""
    return life.cost(max(now, life.rent.expires))


def check_budgets(asked: Quote, settings: FleetSection) -> None:
    """Raise QuoteRefusedError if a night exceeds a budget, and UserError if there is no budget."""
    for name, spent, budget in (
        ("per_night", asked.night, settings.per_night),
        ("per_month", asked.month, settings.per_month),
    ):
        if budget is None:
            raise UserError(
                f"{name} is not set in [fleet], and no server is created without a budget; set "
                f"it (this night costs up to {show_money(asked.total)})"
            )
        if budget.currency != asked.total.currency:
            raise UserError(
                f"{name} in [fleet] is in {budget.currency}, but Hetzner Cloud bills in "
                f"{asked.total.currency}; set the budget in {asked.total.currency}"
            )
        total = Money(spent.amount + asked.total.amount, budget.currency)
        if total.amount > budget.amount:
            before = f" plus {show_money(spent)} spent before" if spent.amount else ""
            raise QuoteRefusedError(
                f"{plural(sum(request.count for request in asked.server_requests), 'server')} for "
                f"{asked.hours} h cost up to {show_money(asked.total)}{before}: the total of "
                f"{show_money(total)} exceeds {name} = {show_money(budget)} in [fleet]; no "
                "server is created"
            )


def check_time(asked: Quote, life: float) -> None:
    """Raise QuoteRefusedError if steps are expected to take longer than ``life`` seconds.

    ``life`` is the time to live of the servers. What a server has measured is lost if it is deleted
    before its jobs end.
    """
    for each in asked.server_requests:
        if each.seconds > life:
            raise QuoteRefusedError(
                f"the steps of class {each.machine_class} take about {show_duration(each.seconds)} "
                f"on {plural(each.count, 'server')}, longer than the {show_duration(life)} that "
                "servers live; set a longer ttl in [fleet], a higher count of the [[class]], or "
                "fewer revisions; no server is created"
            )


def _server_request(
    each: ClassSection,
    settings: FleetSection,
    prices: Prices,
    sold_out: Collection[tuple[str, str]],
    seconds: float,
) -> ServerRequest:
    types = (each.server_type, *each.instead)
    for kind in types:
        prices.check(kind)
    places = prices.places(types, settings.locations)
    if not places:
        raise UserError(
            f"{' or '.join(types)} is not offered in {', '.join(settings.locations)}; name "
            "other locations in [fleet]"
        )
    available = [place for place in places if place not in sold_out]
    if not available:
        raise QuoteRefusedError(
            f"{' or '.join(types)} is sold out in {', '.join(settings.locations)}; name other "
            "locations in [fleet], add server types to `instead` in the [[class]], or try later; "
            "no server is created"
        )
    return ServerRequest(
        machine_class=each.name,
        count=each.count,
        runner_labels=each.labels,
        places=tuple(available),
        dearest=max((prices.hour(*place) for place in available), key=lambda hour: hour.amount),
        seconds=seconds / each.count,
    )


def _sum(costs: Iterable[Money], currency: str) -> Money:
    return Money(math.fsum(cost.amount for cost in costs), currency)


def _month(at: datetime) -> tuple[int, int]:
    moment = at.astimezone(UTC)
    return moment.year, moment.month
