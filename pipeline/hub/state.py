"""The file that describes the running hub."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from pipeline.hub.publisher import Published
from pipeline.model import Frozen


class ServiceState(Frozen):
    """A program of the running hub: its process, if any, and how often it was restarted."""

    name: str
    url: str
    pid: int | None
    restarts: int


class State(Frozen):
    """A running hub: its process, its start, its programs, when it last sent results."""

    pid: int
    since: datetime
    services: tuple[ServiceState, ...]
    published: tuple[Published, ...] = ()


def read_state(path: Path) -> State | None:
    """Return the state of the running hub from its file; None without the file."""
    try:
        return State.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
