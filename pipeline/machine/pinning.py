"""Choose the processors that the server, the load generator and nightshift run on.

An unpinned measurement depends on the scheduler's choices. On a virtual machine, the time to wake
an idle processor hides most of a change: 1.8x was measured as 1.3x.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from pipeline.model import Pinning

CLIENT_SHARE = 4
"""With more than one client, the load generator gets one of this many processors. For short queries
it needs about a quarter of the CPU time that the server needs."""


def available() -> tuple[int, ...]:
    """Return the processors that this process may use, in order."""
    return tuple(sorted(os.sched_getaffinity(0)))


def choose(clients: int, processors: Sequence[int]) -> Pinning:
    """Return the processors for a run with this number of clients, the same every time.

    - One client: client and server take turns, so they share one processor, and no idle processor
      has to be woken for each query. They share the last one, because the first serves interrupts.
    - More clients: disjoint sets, so that the load generator never takes time from the
      server. The server has the last processors.
    - The harness never runs on a processor of the server.
    - One processor: nothing can be separated, so nothing is pinned.
    """
    ordered = tuple(sorted(set(processors)))
    if len(ordered) <= 1:
        return Pinning()
    if clients == 1:
        shared = ordered[-1:]
        return Pinning(server=shared, client=shared, harness=ordered[:-1])
    theirs = max(1, len(ordered) // CLIENT_SHARE)
    return Pinning(server=ordered[theirs:], client=ordered[:theirs], harness=ordered[:theirs])
