"""Run a command while no other process measures on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence

from pipeline.machine.account import contained
from pipeline.machine.lease import INHERITED, machine_lease
from pipeline.text.errors import UserError


def run_leased(
    command: Sequence[str], purpose: str, seconds: float, note: Callable[[str], None]
) -> int:
    """Run a command while it holds the lease of this machine; return its exit code.

    Waits at most ``seconds`` for the lease, and reports its owner to ``note`` while it waits.
    ``purpose`` is shown to other processes that want the lease. Raises UserError for a command that
    cannot be run, and if another process still has the lease.
    """
    for tool in (command[0], "setpriv"):
        if shutil.which(tool) is None:
            raise UserError(
                f"the command {tool} is not installed, or this user may not run it; install it, "
                "or give another command to run"
            )
    lease = machine_lease(purpose or command[0])
    with lease.held(seconds, note):
        return _run(command, lease.token, note)


def _run(command: Sequence[str], token: str, note: Callable[[str], None]) -> int:
    environ = {**os.environ, INHERITED: token}
    with subprocess.Popen(contained(command, death_signal="TERM"), env=environ) as process:
        try:
            code = process.wait()
        except KeyboardInterrupt as stopped:
            # The command gets ctrl-C from the terminal: a second signal would interrupt its
            # cleanup.
            if stopped.args:
                process.terminate()
            note("waiting for the command to end")
            process.wait()
            raise
    return code if code >= 0 else 128 - code
