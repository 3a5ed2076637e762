"""A program that the hub keeps running: started, checked, restarted, stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.hub.http import Address, ask
from pipeline.machine.account import Account
from pipeline.text.errors import UserError

FIRST_DELAY = 1.0
"""Delay in seconds before the first restart."""
LONGEST_DELAY = 60.0
"""Maximum delay in seconds; the delay doubles with each restart."""
SETTLED = 300.0
"""Uptime in seconds after which the delay is reset."""
STOP_PATIENCE = 60.0
"""Seconds that a service has to flush its data before it is killed."""
_CUT = 200
"""Maximum length of the reported reason for an end, in characters."""

Reporter = Callable[[str], None]


@dataclass(frozen=True)
class Service:
    """How a program of the hub is run; ``ready`` is the path that answers once it works.

    ``complaint`` extracts from the program's log why the program ended. ``environment`` has all of
    its environment variables but PATH.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    log: Path
    address: Address
    ready: str
    complaint: Callable[[str], str]


class RunningService:
    """A program that the hub keeps running, as a given account."""

    def __init__(
        self,
        service: Service,
        account: Account,
        report: Reporter,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.service = service
        self.restarts = 0
        self._account = account
        self._report = report
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._started = self._again = 0.0
        self._delay = 0.0

    @property
    def pid(self) -> int | None:
        """The process id of the program; None while it does not run."""
        return None if self._process is None else self._process.pid

    @property
    def answers(self) -> bool:
        """Whether the program answers requests."""
        return ask(self.service.address, self.service.ready) is not None

    def start(self) -> None:
        """Start the program; its previous log is kept beside the new one."""
        log = self.service.log
        if log.exists():
            log.replace(log.with_name(f"{log.name}.1"))
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                # A regular termination signal, on which it flushes its data.
                self._account.command(*self.service.command, death_signal="TERM"),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.service.folder,
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **self.service.environment},
                # Its own session, because the hub handles ctrl-C on the terminal.
                start_new_session=True,
            )
        self._started = self._clock()

    def check_started(self) -> None:
        """Raise UserError if the program ended before it ever answered."""
        if self._process is not None and self._process.poll() is not None:
            service = self.service
            raise UserError(
                f"{service.name} did not start ({self._why()}); the log {service.log} has details"
            )

    def look(self) -> None:
        """Report if the program ended, and restart it after a pause."""
        now = self._clock()
        if self._process is None:
            if now >= self._again:
                self.restarts += 1
                self.start()
        elif self._process.poll() is not None:
            settled = self._delay == 0.0 or now - self._started >= SETTLED
            self._delay = FIRST_DELAY if settled else min(self._delay * 2, LONGEST_DELAY)
            self._again = now + self._delay
            self._report(
                f"{self.service.name} ended ({self._why()}); restart in {self._delay:.0f} s"
            )
            self._process = None

    def ask_to_stop(self) -> None:
        """Ask the program to end, without waiting for it."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """Stop the program and all processes it started, by force if needed."""
        if self._process is None:
            return
        self.ask_to_stop()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_PATIENCE)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None

    def _why(self) -> str:
        code = self._process.poll() if self._process is not None else None
        if code is not None and code < 0:
            return f"killed by {signal.Signals(-code).name}"
        return self.service.complaint(read_log(self.service.log))[:_CUT]


def read_log(log: Path) -> str:
    """Return the text of a log; empty if the file is missing."""
    try:
        return log.read_text(errors="replace")
    except FileNotFoundError:
        return ""
