"""What runs, as the hub writes it down for those who ask."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from pipeline.hub.publisher import Published
from pipeline.model import Frozen


class ServiceState(Frozen):
    """A service: its process (None while it waits to be started again) and how often that was."""

    name: str
    url: str
    pid: int | None
    restarts: int


class State(Frozen):
    """A hub that runs: its process, since when, its services, and how it last published."""

    pid: int
    since: datetime
    services: tuple[ServiceState, ...]
    published: tuple[Published, ...] = ()


def write_state(path: Path, state: State) -> None:
    """Write it so that a reader finds all of it."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(state.model_dump_json(indent=1))
    part.replace(path)


def read_state(path: Path) -> State | None:
    """Return what was written; None where nothing was."""
    try:
        return State.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
