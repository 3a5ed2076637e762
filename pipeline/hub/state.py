"""The state file of a running hub."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from pipeline.hub.publisher import Published
from pipeline.model import Frozen


class ServiceState(Frozen):
    """A service: its process (None while it waits for a restart) and its number of restarts."""

    name: str
    url: str
    pid: int | None
    restarts: int


class State(Frozen):
    """A running hub: its process, its start time, its services, and its last publishing."""

    pid: int
    since: datetime
    services: tuple[ServiceState, ...]
    published: tuple[Published, ...] = ()


def read_state(path: Path) -> State | None:
    """Return the stored state; None without one."""
    try:
        return State.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
