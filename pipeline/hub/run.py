"""The hub at work: its services are kept running, and it publishes, until it is stopped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from threading import Event

from pipeline.hub.layout import Layout
from pipeline.hub.publisher import Publisher
from pipeline.hub.service import Kept, Told
from pipeline.hub.state import ServiceState, State, write_state

POLL = 0.1
"""Seconds between two looks at the processes."""
SLOW = 30.0
"""Seconds after which it is told that a service still starts: Prometheus reads its log first."""


class Hub:
    """Services and who publishes to them, in a folder that is held."""

    def __init__(
        self,
        layout: Layout,
        services: Sequence[Kept],
        publishers: Sequence[Publisher],
        told: Told,
    ) -> None:
        self._layout = layout
        self._services = services
        self._publishers = publishers
        self._running: list[Kept | Publisher] = [*publishers, *services]
        self._told = told
        self._since = datetime.now(UTC)
        self._noted: State | None = None

    def run(self, stop: Event) -> None:
        """Start the services, one after the other, and keep them until ``stop`` is set.

        Raises UserError for one that does not start. Whatever happens, none is left running.
        """
        try:
            for kept in self._services:
                self._start(kept, stop)
            while not stop.wait(POLL):
                self.look()
        finally:
            self._end()

    def look(self) -> None:
        """Restart the services that ended, publish what is due, write down what runs."""
        for kept in self._services:
            kept.look()
        self._publish()
        self._note()

    def _start(self, kept: Kept, stop: Event) -> None:
        """Start a service and wait until it answers."""
        if stop.is_set():
            return
        kept.start()
        self._note()
        looks = 0
        while not kept.answers:
            if stop.wait(POLL):
                return
            kept.check_started()
            looks += 1
            if looks == int(SLOW / POLL):
                self._told(f"{kept.service.name} still reads what it has stored")
        self._told(f"{kept.service.name} answers at {kept.service.address.url}")

    def _publish(self) -> None:
        """Let one publish at a time: what is published is noted in one place."""
        busy = next((each for each in self._publishers if each.running), None)
        for publisher in self._publishers if busy is None else [busy]:
            publisher.look()
            if publisher.running:
                return

    def _end(self) -> None:
        """Stop everything: all are asked first, then each is waited for."""
        for each in self._running:
            each.ask_to_stop()
        for each in self._running:
            each.stop()
        with suppress(OSError):
            self._layout.state.unlink()

    def _note(self) -> None:
        """Write down what runs, if that is not what is there."""
        state = State(
            pid=os.getpid(),
            since=self._since,
            services=tuple(
                ServiceState(
                    name=kept.service.name,
                    url=kept.service.address.url,
                    pid=kept.pid,
                    restarts=kept.restarts,
                )
                for kept in self._services
            ),
            published=tuple(each.last for each in self._publishers if each.last is not None),
        )
        if state != self._noted:
            self._noted = state
            try:
                write_state(self._layout.state, state)
            except OSError as error:
                # What runs goes on: only who asks is not told.
                self._told(f"{self._layout.state} cannot be written: {error.strerror}")
