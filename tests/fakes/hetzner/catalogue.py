"""What can be had: locations, images, types of servers and their prices.

The prices are made up, and have the form and the size of real ones. Net and gross differ, and so do
locations, so that a sum of the wrong ones is seen.
"""

from __future__ import annotations

from typing import Any

LOCATIONS: list[dict[str, Any]] = [
    {
        "id": number,
        "name": name,
        "description": f"{city} DC Park 1",
        "country": country,
        "city": city,
        "latitude": latitude,
        "longitude": longitude,
        "network_zone": zone,
    }
    for number, name, city, country, latitude, longitude, zone in (
        (1, "fsn1", "Falkenstein", "DE", 50.47612, 12.370071, "eu-central"),
        (2, "nbg1", "Nuremberg", "DE", 49.452102, 11.076665, "eu-central"),
        (3, "hel1", "Helsinki", "FI", 60.169855, 24.938379, "eu-central"),
        (4, "ash", "Ashburn, VA", "US", 39.045821, -77.487073, "us-east"),
    )
]

IMAGES: list[dict[str, Any]] = [
    {
        "id": number,
        "type": "system",
        "status": "available",
        "name": name,
        "description": name,
        "image_size": None,
        "disk_size": 5,
        "created": "2026-01-01T00:00:00Z",
        "created_from": None,
        "bound_to": None,
        "os_flavor": name.partition("-")[0],
        "os_version": name.partition("-")[2],
        "rapid_deploy": True,
        "protection": {"delete": False},
        "deprecated": None,
        "deleted": None,
        "labels": {},
        "architecture": "x86",
    }
    for number, name in ((101, "debian-12"), (102, "debian-13"), (103, "ubuntu-24.04"))
]

VAT = 0.19
"""Of the prices: gross is net and this."""
IPV4_HOUR = 0.001
"""Net price of an hour of a public IPv4 address."""
AWAY = 1.1
"""What everything costs in Ashburn, relative to the other locations."""


def price(net: float) -> dict[str, str]:
    """Write a price as the API does: decimal texts."""
    return {"net": f"{net:.10f}", "gross": f"{net * (1 + VAT):.16f}"}


def _prices(hour: float) -> list[dict[str, Any]]:
    return [
        {
            "location": each["name"],
            "price_hourly": price(net),
            "price_monthly": price(net * 624),
            "included_traffic": 20 * 2**40,
            "price_per_tb_traffic": price(1.0),
        }
        for each in LOCATIONS
        for net in (hour * (AWAY if each["name"] == "ash" else 1.0),)
    ]


SERVER_TYPES: list[dict[str, Any]] = [
    {
        "id": number,
        "name": name,
        "description": name.upper(),
        "category": "General Purpose",
        "cores": cores,
        "memory": memory,
        "disk": disk,
        "deprecated": False,
        "deprecation": None,
        "prices": _prices(hour),
        "storage_type": "local",
        "cpu_type": kind,
        "architecture": "x86",
        "locations": [
            {
                "id": each["id"],
                "name": each["name"],
                "deprecation": None,
                "available": True,
                "recommended": True,
            }
            for each in LOCATIONS
        ],
    }
    for number, name, cores, memory, disk, kind, hour in (
        (22, "cpx11", 2, 2.0, 40, "shared", 0.007),
        (114, "cx23", 2, 4.0, 40, "shared", 0.006),
        (115, "cx33", 4, 8.0, 80, "shared", 0.01),
        (96, "ccx13", 2, 8.0, 80, "dedicated", 0.02),
        (97, "ccx23", 4, 16.0, 160, "dedicated", 0.04),
        (98, "ccx33", 8, 32.0, 240, "dedicated", 0.08),
        (100, "ccx53", 32, 128.0, 600, "dedicated", 0.31),
        (101, "ccx63", 48, 192.0, 960, "dedicated", 0.46),
    )
]

PRICING: dict[str, Any] = {
    "currency": "EUR",
    "vat_rate": f"{VAT * 100:.2f}",
    "image": {"price_per_gb_month": price(0.01)},
    "server_backup": {"percentage": "20.00"},
    "floating_ips": [],
    "load_balancer_types": [],
    "primary_ips": [
        {
            "type": kind,
            "prices": [
                {
                    "location": each["name"],
                    "price_hourly": price(net),
                    "price_monthly": price(net * 624),
                }
                for each in LOCATIONS
            ],
        }
        for kind, net in (("ipv4", IPV4_HOUR), ("ipv6", 0.0))
    ],
    "server_types": [{key: each[key] for key in ("id", "name", "prices")} for each in SERVER_TYPES],
    "volume": {"price_per_gb_month": price(0.05)},
}
