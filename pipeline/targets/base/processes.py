"""Start a server, wait for its first answer, and stop it with all of its child processes."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from pipeline.machine.ports import check_port, port_error
from pipeline.model import Build
from pipeline.targets.base import Placement, StartError
from pipeline.targets.base.programs import ENVIRONMENT
from pipeline.targets.base.templates import copy_template
from pipeline.text.errors import UserError

LOG = "server.log"
"""The log file in a server's folder: its standard output and error."""
SOCKET_PATH_LIMIT = 107
"""Maximum length of the path of a Unix socket on Linux, in bytes."""
READY_POLL = 0.01
"""Seconds between two checks whether the server answers."""
READY_DEADLINE = 180.0
"""Seconds that a started server may take to answer."""
STOP_DEADLINE = 10.0
"""Seconds that a server has for an orderly shutdown."""
KILL_DEADLINE = 10.0
"""Seconds to wait until killed processes have ended."""


def prepare(build: Build, template: Path, placement: Placement, socket: Path | None = None) -> Path:
    """Prepare the folder that a server runs in, with a copy of the empty database.

    Raises UserError for a folder that the account cannot reach and, for a server with a ``socket``,
    for a port in use and for a socket whose path is too long.
    """
    folder = placement.folder
    if socket is not None:
        check_socket_path(socket)
        check_port(placement.port)
    placement.account.check_reach(build.home)
    placement.account.own(folder)
    placement.account.check_reach(folder.parent)
    data = folder / "data"
    copy_template(template, data, placement.account)
    return data


def check_socket_path(socket: Path) -> None:
    """Raise UserError for a socket whose path is too long."""
    excess = len(bytes(socket)) - SOCKET_PATH_LIMIT
    if excess > 0:
        raise UserError(
            f"{socket.parent} is {excess} characters too long for a Unix socket; set paths.cache "
            "in nightshift.toml to a folder with a shorter name"
        )


def start_process(
    command: Sequence[str], placement: Placement, environment: Mapping[str, str] = ENVIRONMENT
) -> subprocess.Popen[bytes]:
    """Start a server that writes its log to its private folder.

    Call it from a thread that outlives the server: the kernel kills the server when that thread
    ends, so that a killed night leaves no server behind.
    """
    with (placement.folder / LOG).open("wb") as output:
        return subprocess.Popen(
            placement.account.command(
                *placement.instrument,
                *command,
                processors=placement.processors,
                limit=placement.limit,
            ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=placement.folder,
            env=dict(environment),
            # A session of its own: nightshift alone handles ctrl-C on the terminal.
            start_new_session=True,
        )


def await_ready(
    process: subprocess.Popen[bytes],
    name: str,
    placement: Placement,
    answers: Callable[[], bool],
    complaint: Callable[[str], str],
) -> None:
    """Wait until a server answers; if it does not, stop it and raise StartError.

    ``complaint`` extracts the reason from the text of the log.
    """
    log = placement.folder / LOG
    deadline = time.monotonic() + READY_DEADLINE
    try:
        while not answers():
            if process.poll() is not None:
                raise start_error(log.read_text(errors="replace"), placement.port, name, complaint)
            if time.monotonic() > deadline:
                raise StartError(f"{name} did not answer within {READY_DEADLINE:.0f} s")
            time.sleep(READY_POLL)
    except BaseException:
        stop_tree(process)
        raise


def start_error(text: str, port: int, name: str, complaint: Callable[[str], str]) -> Exception:
    """Return the error for a server that ended during its start, with the reason in its log.

    Returns a UserError if the machine is the cause, and a StartError otherwise.
    """
    if "Address already in use" in text:
        return port_error(port, OSError(0, "Address already in use"))
    why = complaint(text) or "no output"
    if "Permission denied" in why:
        return UserError(f"{name} lacks a permission on this machine ({why}); grant it")
    return StartError(f"{name} did not start ({why})")


def stop_tree(process: subprocess.Popen[bytes], politely: signal.Signals = signal.SIGQUIT) -> None:
    """Stop a server with all of its child processes: send a signal, wait, then kill."""
    tree: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        tree = psutil.Process(process.pid).children(recursive=True)
    if process.poll() is None:
        process.send_signal(politely)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_DEADLINE)
    _, left = psutil.wait_procs(tree, timeout=1.0 if process.poll() is not None else 0.0)
    if process.poll() is None:
        process.kill()
        process.wait()
    for straggler in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            straggler.kill()
    psutil.wait_procs(left, timeout=KILL_DEADLINE)
