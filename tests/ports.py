"""Ports for the servers of tests, which nobody else is given between choosing and listening."""

from __future__ import annotations

import itertools
import os
from contextlib import suppress

from pipeline.machine.ports import check_port
from pipeline.text.errors import UserError

# Below those that the kernel gives to whoever asks for any, and apart for tests side by side.
_FIRST = 20_000 + 1_000 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_PORTS = itertools.cycle(range(_FIRST, _FIRST + 1_000))


def free_port() -> int:
    """Return a port that nothing listens on, another one at each call."""
    for port in _PORTS:
        with suppress(UserError):
            check_port(port)
            return port
    raise AssertionError("no port is free")
