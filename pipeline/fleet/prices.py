"""What servers cost, as the API tells it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipeline.errors import UserError, meant
from pipeline.units import Money


class Prices:
    """Prices of an hour: of a server and of its public IPv4 address, which GitHub is reached by.

    All are gross, so that a sum is never less than the bill.
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
        """Raise UserError for a type that there is not."""
        if server_type not in self._types:
            raise UserError(
                f"Hetzner Cloud has no server type {server_type!r}, which a [[class]] names; "
                f"{meant(server_type, self._types)}"
            )

    def places(self, types: Sequence[str], locations: Sequence[str]) -> list[tuple[str, str]]:
        """Return the types and locations that have a price, in the order of preference."""
        return [(kind, at) for kind in types for at in locations if at in self._types[kind]]

    def hour(self, server_type: str, location: str) -> Money:
        """Return what an hour of a server there costs. Raises UserError where nobody says."""
        if location not in self._types.get(server_type, {}):
            raise UserError(f"Hetzner Cloud tells no price of a {server_type} in {location}")
        price = self._types[server_type][location] + self._address.get(location, 0.0)
        return Money(price, self.currency)


def _hourly(prices: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    for each in prices:
        yield each["location"], float(each["price_hourly"]["gross"])
