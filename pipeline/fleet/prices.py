"""Prices of servers, from the cloud's API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipeline.text.errors import UserError, did_you_mean
from pipeline.text.units import Money


class Prices:
    """What each server type costs per hour with the public IPv4 address that it needs.

    All prices are gross, so a sum is never below the bill.
    """

    def __init__(self, pricing: Mapping[str, Any]) -> None:
        self.currency: str = pricing["currency"]
        self._types: dict[str, dict[str, float]] = {
            each["name"]: dict(_hourly(each["prices"])) for each in pricing["server_types"]
        }
        self._address: dict[str, float] = {
            location: price
            for each in pricing["primary_ips"]
            if each["type"] == "ipv4"
            for location, price in _hourly(each["prices"])
        }

    def check(self, server_type: str) -> None:
        """Raise UserError for a server type that does not exist."""
        if server_type not in self._types:
            raise UserError(
                f"a [[class]] has the server_type {server_type!r}, which Hetzner Cloud does not "
                f"offer; {did_you_mean(server_type, self._types)}"
            )

    def places(self, types: Sequence[str], locations: Sequence[str]) -> list[tuple[str, str]]:
        """Return the server types and locations that have a price, preferred ones first."""
        return [(kind, at) for kind in types for at in locations if at in self._types[kind]]

    def hour(self, server_type: str, location: str) -> Money:
        """Return the price of a server per hour in a location. Raises UserError without one."""
        if location not in self._types.get(server_type, {}):
            raise UserError(
                f"Hetzner Cloud gives no price for {server_type} in {location}; name "
                "another location in [fleet]"
            )
        price = self._types[server_type][location] + self._address.get(location, 0.0)
        return Money(price, self.currency)


def _hourly(prices: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    for each in prices:
        yield each["location"], float(each["price_hourly"]["gross"])
