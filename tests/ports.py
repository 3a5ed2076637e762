"""Ports for the servers of tests that no other process takes between choosing and listening."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from pipeline.machine.ports import check_port
from pipeline.text.errors import UserError

# Below the ports that the kernel gives to any process that asks for one.
_BLOCKS = range(20_000, 32_000, 500)

# Open until the process ends.
_CLAIMS: list[socket.socket] = []


def free_port() -> int:
    """Return a port that nothing listens on, another one at each call."""
    for port in _claimed_ports():
        with suppress(UserError):
            check_port(port)
            return port
    raise AssertionError("no port is free")


@cache
def _claimed_ports() -> Iterator[int]:
    """Claim a block of ports for this process, beside other workers and other runs of the tests."""
    for first in _BLOCKS:
        claim = socket.socket(socket.AF_UNIX)
        try:
            # An abstract address is no file, and is free again when this process ends.
            claim.bind(f"\0nightshift-test-ports-{first}")
        except OSError:
            claim.close()
        else:
            _CLAIMS.append(claim)
            return itertools.cycle(range(first, first + _BLOCKS.step))
    raise AssertionError("every block of ports is claimed by another process")
