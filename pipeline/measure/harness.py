"""Errors of the harness: failures caused by nightshift or its machine, not by the DBMS."""

from __future__ import annotations

import os
import signal
import time

from pipeline.measure.step import Executed
from pipeline.text.errors import UserError

ATTEMPTS = 3
"""Maximum number of attempts at a run that ends with a harness error."""

BROKEN = 6
"""Harness errors in a row after which a night measures no more: the machine is at fault."""

_NOT_RUN = {126, 127}
"""Exit codes of setpriv and taskset for a program that cannot be run."""

_POLL = 0.02
"""Seconds between two checks whether a server has ended."""

_FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}
"""Signals that people and programs send to end a process; a crash ends it with other signals."""


class HarnessError(UserError):
    """A run failed because of nightshift or its machine, so it says nothing about the DBMS."""


def client_error(done: Executed) -> str:
    """Return why a load generator failed, if the harness is to blame; otherwise "".

    A crash is a result: sysbench crashes when a server that crashed breaks its connections, and
    some DBMSs run inside the load generator.
    """
    if done.hung:
        stopped = bool(done.samples) and done.samples[-1].values.get("client.stopped", 0) > 0
        return "a signal stopped the load generator" if stopped else ""
    if done.exit_code in _NOT_RUN and "failed to execute" in done.text:
        return f"the load generator cannot be run ({done.failure})"
    if -done.exit_code in _FROM_OUTSIDE:
        return f"the load generator was {done.failure}"
    return ""


def server_end(pid: int | None, *, wait: float = 0.0) -> signal.Signals | int | None:
    """Return how a server ended: its signal or its exit code; None if it still runs.

    Waits for the end at most ``wait`` seconds: a killed process closes its sockets before it has
    ended. The process is not reaped. Returns None also if ``pid`` is None or no child of this
    process.
    """
    if pid is None:
        return None
    deadline = time.monotonic() + wait
    try:
        while True:
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is not None or time.monotonic() >= deadline:
                break
            time.sleep(_POLL)
    except ChildProcessError:
        return None
    if ended is None:
        return None
    by_signal = ended.si_code in (os.CLD_KILLED, os.CLD_DUMPED)
    return signal.Signals(ended.si_status) if by_signal else ended.si_status
