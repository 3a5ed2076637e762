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

LAPTOP: dict[str, Any] = {**_COMMON, "repository": "me/trial"}
"""One server on trial: of the size bench, or of the size hub."""


def team(**more: Any) -> dict[str, Any]:
    """Return a hub, and a class of benches for the nights."""
    return {**_TEAM, **more}


def night(benches: int = 2, **more: Any) -> dict[str, Any]:
    """Return the servers of a night, with a job each, as the fleet writes them."""
    servers = {
        "server_type": "ccx33",
        "location": "fsn1",
        "server_count": benches,
        "cores": 8,
        "memory_gb": 32,
        "runner_labels": ["self-hosted", "ccx33"],
    }
    return {
        "night": "4711",
        "expires": "2099-03-01T09:17:00Z",
        "runner_program": _TEAM["runner_program"],
        "classes": {"ccx33": servers},
        "runner_configurations": {"ccx33": [[f"Sk9C{number}aaa"] for number in range(benches)]},
        **more,
    }


def seeds(**more: Any) -> dict[str, Any]:
    """Return the published classes: a hub, two cloud types for the nights, two hosts."""
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
    return {**_TEAM, "hosts": hosts, **more}
