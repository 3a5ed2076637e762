"""What a user gives the environments."""

from __future__ import annotations

from typing import Any

ADMINS = ["203.0.113.7/32", "2001:db8:5::/48"]
"""Where SSH comes from."""

_COMMON: dict[str, Any] = {
    "nightshift": {"repository": "https://github.example/me/nightshift", "revision": "v1.2.0"},
    "admin_cidrs": ADMINS,
    "ssh_keys": {"me": "ssh-ed25519 " + "A" * 68 + " me@laptop"},
}

_TEAM: dict[str, Any] = {
    **_COMMON,
    "repository": "me/bench",
    "terraform": {
        "program": {"url": "https://github.example/tofu.zip", "sha256": "cd" * 32},
        "provider": {"url": "https://github.example/hcloud.zip", "sha256": "ef" * 32},
        "bucket": "states",
        "endpoint": "https://s3.example",
    },
    "runner_program": {"url": "https://github.example/runner.tar.gz", "sha256": "ab" * 32},
}

LAPTOP: dict[str, Any] = {**_COMMON, "trial": "bench"}
"""One bench."""

LAPTOP_HUB: dict[str, Any] = {**_COMMON, "trial": "hub"}
"""One hub, without backups."""


def team(benches: int = 2, **more: Any) -> dict[str, Any]:
    """Return a hub, and a night of some benches with a job each."""
    night = {
        "night": "2026-03-01",
        "bench_count": benches,
        "runner_configurations": [[f"Sk9C{number}aaa"] for number in range(benches)],
    }
    return {**_TEAM, **night, **more}


def seeds(**more: Any) -> dict[str, Any]:
    """Return the published classes: a hub, a night of one bench of each cloud type, two hosts."""
    hosts = {
        "ax1": {
            "class": "ax162-s",
            "cores": 48,
            "memory_gb": 128,
            "address": "192.0.2.48",
            "robot_number": 321,
        },
        "tower": {"class": "7049a-t", "cores": 24, "memory_gb": 64, "address": "192.0.2.24"},
    }
    night = {
        "night": "2026-03-01",
        "bench_counts": {"ccx33": 1, "ccx53": 1},
        "runner_configurations": {"ccx33": [["Sk9Caaaa"]], "ccx53": [["Sk9Cbbbb"]]},
    }
    return {**_TEAM, **night, "hosts": hosts, **more}
