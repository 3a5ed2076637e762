"""The running hub: it keeps Prometheus and Grafana running, and sends results to Prometheus."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from threading import Event

from pipeline.files.atomic_write import write_atomically
from pipeline.hub.layout import HubLayout
from pipeline.hub.publisher import Publisher
from pipeline.hub.service import Reporter, RunningService
from pipeline.hub.state import ServiceState, State

POLL = 0.1
"""Seconds between two polls of the processes."""
SLOW = 30.0
"""Seconds after which a slow start is reported: Prometheus loads its stored data first."""


class Hub:
    """The hub as a program: the services that it keeps running, in a locked folder."""

    def __init__(
        self,
        layout: HubLayout,
        services: Sequence[RunningService],
        publishers: Sequence[Publisher],
        report: Reporter,
    ) -> None:
        self._layout = layout
        self._services = services
        self._publishers = publishers
        self._running: list[RunningService | Publisher] = [*publishers, *services]
        self._report = report
        self._since = datetime.now(UTC)
        self._noted: State | None = None

    def run(self, stop: Event) -> None:
        """Start Prometheus and Grafana, and keep them running until ``stop`` is set.

        Raises UserError for a service that does not start. No service is left running in any case.
        """
        try:
            for kept in self._services:
                self._start(kept, stop)
            while not stop.wait(POLL):
                self.look()
        finally:
            self._end()

    def look(self) -> None:
        """Restart services that ended, send results if it is time, and write the state."""
        for kept in self._services:
            kept.look()
        self._publish()
        self._note()

    def _start(self, kept: RunningService, stop: Event) -> None:
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
                self._report(f"{kept.service.name} is still loading its stored data")
        self._report(f"{kept.service.name} is ready at {kept.service.address.url}")

    def _publish(self) -> None:
        """Send results to one receiver at a time, because they share a record."""
        busy = next((each for each in self._publishers if each.running), None)
        for publisher in self._publishers if busy is None else [busy]:
            publisher.look()
            if publisher.running:
                return

    def _end(self) -> None:
        """Stop all services: ask each to end first, then wait for them."""
        for each in self._running:
            each.ask_to_stop()
        for each in self._running:
            each.stop()
        with suppress(OSError):
            self._layout.state.unlink()

    def _note(self) -> None:
        """Write the state of the hub to its file if it changed."""
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
                write_atomically(self._layout.state, state.model_dump_json(indent=1))
            except OSError as error:
                # The services continue: only the state file is stale.
                self._report(f"{self._layout.state} cannot be written: {error.strerror}")
