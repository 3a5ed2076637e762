"""What of the hub runs, where, and how much it holds."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.config import Config
from pipeline.hub import prometheus
from pipeline.hub.ask import Address, ask
from pipeline.hub.layout import Layout, is_held
from pipeline.hub.prometheus import WRITE
from pipeline.hub.services import addresses
from pipeline.hub.state import State, read_state
from pipeline.model import Frozen

_HEARTBEATS = '{__name__=~"nightshift_(publish|night)_timestamp_seconds"}'
"""A few series that every night and everything published adds to."""
_PATIENCE = "90d"
"""How far back a sample of them is looked for."""


class Status(Frozen):
    """``state`` is None where no hub runs here.

    ``version`` is of the Prometheus that answers at ``url``, whoever runs it, None where none does.
    ``bytes`` is what its data takes, None where that cannot be read. ``newest`` is the time of the
    newest sample that a night or the publisher sent.
    """

    state: State | None
    url: str
    version: str | None
    folder: Path
    bytes: int | None
    newest: datetime | None


def receiver(config: Config) -> str:
    """Return where the hub of a configuration takes samples; empty where none runs."""
    at, _ = addresses(config)
    return f"{at.url}{WRITE}" if is_held(Layout(config.hub_folder)) else ""


def status(config: Config) -> Status:
    """Look at the hub of a configuration."""
    layout = Layout(config.hub_folder)
    at, _ = addresses(config)
    answers = ask(at, prometheus.READY) is not None
    return Status(
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
    """Return the data of an answer; nothing where it is none of a Prometheus."""
    said = ask(at, f"/api/v1/{path}", **parameters)
    try:
        return dict(json.loads(said)["data"]) if said is not None else {}
    except (KeyError, TypeError, ValueError):
        return {}


def _size(folder: Path) -> int | None:
    """Return the bytes of the files in a folder that a server writes to meanwhile."""
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
