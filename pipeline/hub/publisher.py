"""Send new results to Prometheus every few minutes, in a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pipeline.hub.service import Reporter, read_log
from pipeline.machine.account import contained
from pipeline.model import Frozen

STOP_PATIENCE = 30.0
"""Seconds that publishing has to finish when the hub stops; later it resumes where it stopped."""


_WARNING = "nightshift: "
"""Prefix of a line with a warning or an error of the verb `publish`."""


class Published(Frozen):
    """How the last sending of results ended: receiver, time, success, message."""

    url: str
    at: datetime
    well: bool
    message: str


class Publisher:
    """Sends results to one receiver at regular intervals, by one process at a time.

    It reports the first publishing, and a failure when it begins, changes and ends. A warning
    counts as a failure, because then not everything was published.
    """

    def __init__(
        self,
        url: str,
        command: Sequence[str],
        log: Path,
        every: float,
        report: Reporter,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.last: Published | None = None
        self._url = url
        self._command = command
        self._log = log
        self._every = every
        self._report = report
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._due = clock()

    @property
    def running(self) -> bool:
        """Whether results are being sent now."""
        return self._process is not None

    def look(self) -> None:
        """Start to send results if they are due, or check whether the last sending has ended."""
        if self._process is not None:
            if self._process.poll() is not None:
                self._see(self._process.returncode)
                self._process = None
        elif self._clock() >= self._due:
            self._due = self._clock() + self._every
            with self._log.open("wb") as output:
                self._process = subprocess.Popen(
                    contained(self._command, death_signal="TERM"),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )

    def ask_to_stop(self) -> None:
        """Ask the sending process to end, without waiting for it."""
        if self._process is not None:
            self._process.terminate()

    def stop(self) -> None:
        """Stop the sending process if it runs."""
        if self._process is None:
            return
        self.ask_to_stop()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_PATIENCE)
        self._process.kill()
        self._process.wait()
        self._process = None

    def _see(self, code: int) -> None:
        lines = read_log(self._log).strip().splitlines()
        warned = [line for line in lines if line.startswith(_WARNING)]
        message = "; ".join(line.removeprefix(_WARNING) for line in warned or lines[-1:])
        before = self.last
        self.last = Published(
            url=self._url,
            at=datetime.now(UTC),
            well=code == 0 and not warned,
            message=message or f"exit code {code}",
        )
        if before is not None and (before.well, before.message) == (
            self.last.well,
            self.last.message,
        ):
            return
        if not self.last.well:
            self._report(f"publishing to {self._url} was incomplete: {self.last.message}")
        elif before is None:
            self._report(self.last.message)
        elif not before.well:
            self._report(f"publishing works again: {self.last.message}")
