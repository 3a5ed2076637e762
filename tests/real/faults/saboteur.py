"""Does something to a process in the middle of a step of a night in this process."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

import psutil

Act = Callable[[psutil.Process, psutil.Process | None], None]
"""Takes the load generator of a step and the server's first process, if there is one."""

_DELAY = 1.2
"""Seconds after the start of a load generator at which it measures."""


class Saboteur:
    """Acts once in each of the next ``times`` measured steps with this name."""

    def __init__(self, step: str, act: Act, times: int = 1) -> None:
        self._step, self._act, self._left = step, act, times
        self._seen: set[int] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.done = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while self.done < self._left and not self._over.wait(0.02):
            with suppress(psutil.NoSuchProcess):
                ours = psutil.Process().children()
                for process in ours:
                    if process.pid not in self._seen and self._measures(process):
                        self._seen.add(process.pid)
                        time.sleep(_DELAY)
                        server = next((one for one in ours if one.name() == "postgres"), None)
                        self._act(process, server)
                        self.done += 1
                        break

    def _measures(self, process: psutil.Process) -> bool:
        words = process.cmdline()
        return (
            process.name() == "sysbench"
            and words[-1:] == ["run"]
            and "--time=0" not in words
            and f"--step={self._step}" in words
        )


def send_client(number: signal.Signals) -> Act:
    """Send a signal to the load generator."""
    return lambda client, _: client.send_signal(number)


def send_server(number: signal.Signals) -> Act:
    """Send a signal to the server's first process."""

    def act(_client: psutil.Process, server: psutil.Process | None) -> None:
        assert server is not None
        server.send_signal(number)

    return act


def backends(server: psutil.Process) -> list[psutil.Process]:
    """Return the processes of a server that work for the load generator."""
    return [one for one in server.children() if " sbtest " in " ".join(one.cmdline())]


def send_backends(number: signal.Signals) -> Act:
    """Send a signal to the server's processes that work for the load generator."""

    def act(_client: psutil.Process, server: psutil.Process | None) -> None:
        assert server is not None
        for one in backends(server):
            # What the kernel does for any other process of this machine.
            os.kill(one.pid, number)

    return act


def slow_backends(seconds: float) -> Act:
    """Stop the server's working processes for a while, then let them go on."""

    def act(client: psutil.Process, server: psutil.Process | None) -> None:
        send_backends(signal.SIGSTOP)(client, server)
        time.sleep(seconds)
        send_backends(signal.SIGCONT)(client, server)

    return act


def slow_client(seconds: float) -> Act:
    """Stop the load generator for a while, then let it go on."""

    def act(client: psutil.Process, server: psutil.Process | None) -> None:
        send_client(signal.SIGSTOP)(client, server)
        time.sleep(seconds)
        send_client(signal.SIGCONT)(client, server)

    return act
