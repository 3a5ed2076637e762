"""What `nightshift hub status` shows: programs, addresses, size of the data."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.config import Config
from pipeline.hub import prometheus
from pipeline.hub.http import Address, ask
from pipeline.hub.layout import HubLayout, is_held
from pipeline.hub.prometheus import WRITE
from pipeline.hub.services import addresses
from pipeline.hub.state import State, read_state
from pipeline.model import Frozen

_HEARTBEATS = '{__name__=~"nightshift_(publish|night)_timestamp_seconds"}'
"""Selector of the series that get a sample from every night and every publishing."""
_PATIENCE = "90d"
"""How far back samples of these series are searched."""


class HubStatus(Frozen):
    """The status of a hub; ``state`` is None if no hub runs here.

    ``version`` is the version of the Prometheus at ``url``, whoever runs it; None if none answers.
    ``bytes`` is the size of its data; None if the data are not readable. ``newest`` is the time of
    the newest sample from a night or the publisher.
    """

    state: State | None
    url: str
    version: str | None
    folder: Path
    bytes: int | None
    newest: datetime | None


def receiver(config: Config) -> str:
    """Return the address at which a running hub accepts results; empty if none runs."""
    at, _ = addresses(config)
    return f"{at.url}{WRITE}" if is_held(HubLayout(config.hub_folder)) else ""


def status(config: Config) -> HubStatus:
    """Return the status of the configured hub."""
    layout = HubLayout(config.hub_folder)
    at, _ = addresses(config)
    answers = ask(at, prometheus.READY) is not None
    return HubStatus(
        state=read_state(layout.state) if is_held(layout) else None,
        url=at.url,
        version=_version(at) if answers else None,
        folder=layout.prometheus,
        bytes=_size(layout.prometheus),
        newest=_newest(at) if answers else None,
    )


def _version(at: Address) -> str:
    return str(_data(at, "status/buildinfo").get("version", "of an unknown version"))


def _newest(at: Address) -> datetime | None:
    found = _data(at, "query", query=f"{_HEARTBEATS}[{_PATIENCE}]").get("result", [])
    times = [float(at) for series in found for at, _ in series["values"]]
    return datetime.fromtimestamp(max(times), UTC) if times else None


def _data(at: Address, path: str, **parameters: str) -> dict[str, Any]:
    """Return the data that Prometheus answers to a request; empty without a valid answer."""
    answer = ask(at, f"/api/v1/{path}", **parameters)
    try:
        return dict(json.loads(answer)["data"]) if answer is not None else {}
    except (KeyError, TypeError, ValueError):
        return {}


def _size(folder: Path) -> int | None:
    """Return the size of all files in a folder in bytes."""
    if not os.access(folder, os.R_OK | os.X_OK):
        return None
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(place) / name).lstat().st_size
            except FileNotFoundError:
                continue
    return total
