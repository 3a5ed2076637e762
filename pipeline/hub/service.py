"""A service that is kept running: started, looked at, started again when it ends, stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import UserError
from pipeline.hub.ask import Address, ask
from pipeline.machine.account import Account

FIRST_DELAY = 1.0
"""Seconds until a service that ended is started again."""
LONGEST_DELAY = 60.0
"""Seconds that this grows to, twice as long each time."""
SETTLED = 300.0
"""Seconds after which a service counts as one that runs: the next delay is the first again."""
STOP_PATIENCE = 60.0
"""Seconds that a service has to write what it holds before it is killed."""
_CUT = 200
"""Characters of a complaint that are told."""

Told = Callable[[str], None]


@dataclass(frozen=True)
class Service:
    """What is run: ``ready`` is the path that answers when it serves.

    ``complaint`` finds in its log why it ended. ``environment`` is all that it sees besides PATH.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    log: Path
    address: Address
    ready: str
    complaint: Callable[[str], str]


class Kept:
    """A service at work, as ``account``. It is told of when it ends."""

    def __init__(
        self,
        service: Service,
        account: Account,
        told: Told,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.service = service
        self.restarts = 0
        self._account = account
        self._told = told
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._started = self._again = 0.0
        self._delay = 0.0

    @property
    def pid(self) -> int | None:
        """Its process, while there is one."""
        return None if self._process is None else self._process.pid

    @property
    def answers(self) -> bool:
        """Whether it serves."""
        return ask(self.service.address, self.service.ready) is not None

    def start(self) -> None:
        """Start it. The log of the time before is kept beside the new one."""
        log = self.service.log
        if log.exists():
            log.replace(log.with_name(f"{log.name}.1"))
        with log.open("wb") as said:
            self._process = subprocess.Popen(
                # Told to end as it would be by us: it writes what it holds.
                self._account.command(*self.service.command, death_signal="TERM"),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                cwd=self.service.folder,
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **self.service.environment},
                # Its own session: ctrl-C on the terminal is ours to act on.
                start_new_session=True,
            )
        self._started = self._clock()

    def check_started(self) -> None:
        """Raise UserError if it ended before it ever served: there is something to mend."""
        if self._process is not None and self._process.poll() is not None:
            service = self.service
            raise UserError(
                f"{service.name} did not start ({self._why()}); its log is {service.log}"
            )

    def look(self) -> None:
        """Tell if it has ended, and start it again when its delay is over."""
        now = self._clock()
        if self._process is None:
            if now >= self._again:
                self.restarts += 1
                self.start()
        elif self._process.poll() is not None:
            settled = self._delay == 0.0 or now - self._started >= SETTLED
            self._delay = FIRST_DELAY if settled else min(self._delay * 2, LONGEST_DELAY)
            self._again = now + self._delay
            self._told(
                f"{self.service.name} ended ({self._why()}); it is started again in "
                f"{self._delay:.0f} s"
            )
            self._process = None

    def ask_to_stop(self) -> None:
        """Ask it to end, and return at once."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """End it and every process of it, politely for a while and then not."""
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
        return self.service.complaint(said_in(self.service.log))[:_CUT]


def said_in(log: Path) -> str:
    """Return what a log says; nothing where somebody took it away."""
    try:
        return log.read_text(errors="replace")
    except FileNotFoundError:
        return ""
