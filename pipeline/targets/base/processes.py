"""A server's processes: started in private, waited for, and ended with all of their children."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from pipeline.errors import UserError
from pipeline.machine.ports import check_port, port_error
from pipeline.model import Build
from pipeline.targets.base import Placement, StartError
from pipeline.targets.base.programs import ENVIRONMENT
from pipeline.targets.base.templates import copy_template

LOG = "server.log"
"""The file in a server's folder that takes all it says."""
SOCKET_PATH_LIMIT = 107
"""Bytes that the path of a Unix socket may have on Linux."""
READY_POLL = 0.01
"""Seconds between two looks whether the server answers."""
READY_DEADLINE = 180.0
"""Seconds after which a server that does not answer is given up."""
STOP_DEADLINE = 10.0
"""Seconds that a server has to go by itself."""
KILL_DEADLINE = 10.0
"""Seconds to wait until the kernel has cleared away what was killed."""


def prepare(build: Build, template: Path, socket: Path, placement: Placement) -> Path:
    """Make the placement ready for a server and return the copy of ``template`` in it.

    Raises UserError for a port in use, a folder out of reach, or a ``socket`` of too long a
    name.
    """
    folder = placement.folder
    check_socket_path(socket)
    check_port(placement.port)
    placement.account.check_reach(build.home)
    placement.account.own(folder)
    placement.account.check_reach(folder.parent)
    data = folder / "data"
    copy_template(template, data, placement.account)
    return data


def check_socket_path(socket: Path) -> None:
    """Refuse a folder in which the server could not make its socket."""
    excess = len(bytes(socket)) - SOCKET_PATH_LIMIT
    if excess > 0:
        raise UserError(
            f"{socket.parent} is {excess} characters too long for a Unix socket; set paths.cache "
            "in nightshift.toml to a folder with a shorter name"
        )


def start_process(
    command: Sequence[str], placement: Placement, environment: Mapping[str, str] = ENVIRONMENT
) -> subprocess.Popen[bytes]:
    """Start a server that says all in :data:`LOG` of the placement's folder.

    Call it from a thread that outlives the server: the kernel ends the server with that
    thread, so that a killed night leaves none behind.
    """
    with (placement.folder / LOG).open("wb") as output:
        return subprocess.Popen(
            placement.account.command(*command, processors=placement.processors),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=placement.folder,
            env=dict(environment),
            # Its own session: ctrl-C on the terminal is ours to act on.
            start_new_session=True,
        )


def await_ready(
    process: subprocess.Popen[bytes],
    name: str,
    placement: Placement,
    answers: Callable[[], bool],
    complaint: Callable[[str], str],
) -> None:
    """Wait until the server called ``name`` ``answers``, or stop it and raise StartError.

    ``complaint`` finds in its log the reason why it ended.
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
    """Return the one line for a server that ended while it started, from its log.

    It is a UserError where the machine is the reason and a StartError otherwise.
    """
    if "Address already in use" in text:
        return port_error(port, OSError(0, "Address already in use"))
    why = complaint(text) or "it said nothing"
    return StartError(f"{name} did not start ({why})")


def stop_tree(process: subprocess.Popen[bytes], politely: signal.Signals = signal.SIGQUIT) -> None:
    """End a server and every process below it, politely for a while and then not."""
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
