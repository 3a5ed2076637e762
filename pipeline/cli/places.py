"""How verbs open places, and show what goes to and from them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from pipeline.cli.progress import Bars, Lines, show_left, time_left
from pipeline.config import Config
from pipeline.execute.watch import Watcher
from pipeline.hub.layout import Layout
from pipeline.transfer.backup import Sources
from pipeline.transfer.places import open_place
from pipeline.transfer.places.base import Access, Place

_PAUSE = 30.0
"""Seconds between two lines of progress where there is no terminal."""


def place_of(settings: Config, address: str) -> Place:
    """Open a place with the settings of the configuration. Raises PlaceError."""
    access = Access(
        ssh_config=str(settings.ssh.config.expanduser()) if settings.ssh.config else "",
        endpoint=settings.s3.endpoint,
        region=settings.s3.region,
        key_variable=settings.s3.key,
        signing_variable=settings.s3.secret,
        environment=os.environ,
    )
    return open_place(address, access)


def transfers(console: Console) -> Watcher:
    """Return what shows transfers: a bar on a terminal, now and then a line elsewhere."""
    return Bars(console) if console.is_terminal else Now(console)


class Now(Lines):
    """A line every half minute: a transfer that is over by then says nothing."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        """Print to ``console``; ``clock`` counts seconds."""
        super().__init__(console, clock)
        self._told = 0.0

    def begin(self, stage: str, total: float) -> None:
        """Start counting a stage."""
        super().begin(stage, total)
        self._told = self._clock()

    def advance(self, amount: float, left: float | None = None) -> None:
        """Count bytes, and print how far the stage is if it is time to."""
        super().advance(amount, left)
        moment = self._clock()
        if moment - self._told < _PAUSE:
            return
        self._told = moment
        wait = time_left(self._done, self._total, moment - self._began)
        remaining = f", {show_left(wait)} left" if wait is not None else ""
        self.note(f"{self._done / 1e6:.0f} of {self._total / 1e6:.0f} MB{remaining}")


def hub_sources(settings: Config, config: Path) -> Sources:
    """Return what a hub with these settings has that is not derived; ``config`` is their file."""
    return Sources(settings.paths.results, Layout(settings.hub_folder).grafana, config)
