"""Choose the processors that the server, the load generator and nightshift run on.

An unpinned measurement depends on the scheduler's choices. On a virtual machine, the time to wake
an idle processor hides most of a change: 1.8x was measured as 1.3x.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from pipeline.machine.fingerprint import processors
from pipeline.machine.topology import Core
from pipeline.model import Pinning

CLIENT_SHARE = 4
"""If there are too few cores, one core in this many is the load generator's: it needs about a
quarter of the CPU time that a server needs for short queries."""

BACKGROUND_SHARE = 4
"""Background work gets cores of its own if at least one core in this many remains for it."""

BACKGROUND_CORES = 8
"""So many remaining cores are always enough for background work to get cores of its own, however
large the machine is. Every server has at least so much background work, so the choice does not
depend on its configuration."""


class ConcurrentWork(NamedTuple):
    """What runs at once during a workload.

    ``connections`` are the client connections, or for an ``embedded`` DBMS, which runs inside the
    load generator, its threads. ``background`` are the processes or threads of the DBMS that work
    beside them: checkpoints, vacuum, purge, page cleaners, I/O workers, flushes and compactions.
    """

    connections: int
    background: int = 0
    embedded: bool = False


def available() -> tuple[int, ...]:
    """Return the processors that this process may use, in order."""
    return tuple(sorted(os.sched_getaffinity(0)))


def choose(work: ConcurrentWork, cores: Sequence[Core]) -> Pinning:
    """Return the processors for work on these cores; the choice is deterministic.

    Whole cores are assigned, from the end of the largest NUMA node, because the first core serves
    interrupts.

    - Every connection has a core for its part of the server. A single one shares its core with its
      client: they take turns, and no idle core has to be woken for each query.
    - Background work has its own cores, as many as it can use.
    - The load generator of several connections has its own cores, one for each connection, or for
      two if there are too few cores.
    - This process has a core of its own, or shares those of the load generator.

    If there are too few cores even so, server and load generator divide them, and background work
    shares the cores of the server. With only one processor, nothing is pinned.
    """
    ordered = _ordered(cores)
    count = len(ordered)
    if count <= 1:
        return Pinning()
    clients, background, embedded = work.connections, work.background, work.embedded
    alone = embedded or clients == 1
    fewest = 0 if alone else -(-clients // 2)
    enough = min(background, BACKGROUND_CORES, max(1, count // BACKGROUND_SHARE))
    left = count - clients - fewest - enough
    if left < 0:
        return _divided(ordered, work)
    own = min(left, 1)
    left -= own
    more = 0 if alone else min(left, clients - fewest)
    left -= more
    taken = _CoreStack(ordered)
    served = taken.last(clients)
    if clients == 1:
        # Nothing else runs on the other thread of this core.
        served = served[:1]
    client = served if alone else taken.last(fewest + more)
    beside = taken.last(enough + min(left, background - enough))
    ours = taken.first(own)
    return Pinning(
        server=served,
        background=beside,
        client=client,
        harness=ours or (beside if alone else client) or ordered[0].processors,
    )


def _divided(ordered: Sequence[Core], work: ConcurrentWork) -> Pinning:
    """Return a placement on too few cores, where background work shares the server's cores."""
    taken = _CoreStack(ordered)
    if work.embedded:
        ours = taken.first(1 if work.connections < len(ordered) else 0)
        served = taken.last(len(ordered))
        return Pinning(server=served, client=served, harness=ours or ordered[0].processors)
    client = taken.first(max(1, len(ordered) // CLIENT_SHARE))
    return Pinning(server=taken.last(len(ordered)), client=client, harness=client)


def _ordered(cores: Sequence[Core]) -> list[Core]:
    """Return the cores in order, those of the largest NUMA node last."""
    if len(cores) == 1:
        # Its siblings are all there is to separate.
        cores = [Core((processor,)) for processor in cores[0].processors]
    size = {core.node: sum(core.node == each.node for each in cores) for core in cores}
    return sorted(cores, key=lambda core: (size[core.node], core.node, core.processors))


class _CoreStack:
    """Hands out cores, each only once."""

    def __init__(self, cores: Sequence[Core]) -> None:
        self._left = list(cores)

    def last(self, count: int) -> tuple[int, ...]:
        """Take the last ``count`` of the remaining cores; return their processors in order."""
        keep = max(len(self._left) - count, 0)
        taken, self._left = self._left[keep:], self._left[:keep]
        return _processors(taken)

    def first(self, count: int) -> tuple[int, ...]:
        """Take the first ``count`` of the remaining cores; return their processors in order."""
        taken, self._left = self._left[:count], self._left[count:]
        return _processors(taken)


def _processors(cores: Sequence[Core]) -> tuple[int, ...]:
    return tuple(sorted(processor for core in cores for processor in core.processors))


_LIST = r"\d{1,5}(?:-\d{1,5})?"
_PIN = re.compile(rf"({_LIST}(?:,{_LIST})*):({_LIST}(?:,{_LIST})*)")


def read_pin(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the processors of server and client in a text such as ``0-7:8-9``.

    Raises ValueError, with a sentence, for any other text.
    """
    found = _PIN.fullmatch(text)
    server, client = map(processors, found.groups()) if found else ((), ())
    if not server or not client:
        raise ValueError(
            f"{text!r} does not name processors; write those of the server, a colon and those of "
            'the client, for example "0-7:8-9"'
        )
    return tuple(sorted(set(server))), tuple(sorted(set(client)))


def pinned(text: str, usable: Collection[int]) -> Pinning:
    """Return the placement that a text such as ``0-7:8-9`` sets for server and client.

    This process runs on the other processors. Raises ValueError, with a sentence, for processors
    that are not usable here.
    """
    server, client = read_pin(text)
    if absent := {*server, *client}.difference(usable):
        raise ValueError(
            f"pin = {text!r} names processors that do not exist ({show_processors(absent)}); "
            f"the machine has {show_processors(usable)}"
        )
    others = tuple(sorted(set(usable).difference(server, client)))
    return Pinning(server=server, client=client, harness=others or client)


def show_processors(numbers: Collection[int]) -> str:
    """Return processors as the kernel lists them: ``0-7,9``; ``none`` if there are none."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    return ",".join("-".join(map(str, each)) for each in ranges) or "none"


def show_pinning(pinning: Pinning) -> str:
    """Return a placement in words: ``server 2-3, background work 1, client 0``."""
    if not pinning.server:
        return "not pinned"
    server, client = show_processors(pinning.server), show_processors(pinning.client)
    parts = (
        [f"server and client {server}"]
        if server == client
        else [f"server {server}", f"client {client}"]
    )
    if pinning.background:
        parts.insert(1, f"background work {show_processors(pinning.background)}")
    return ", ".join(parts)
