"""The probes, which read values of the machine or the DBMS every second while a step runs."""

from __future__ import annotations

from pipeline.probes.base import Probe
from pipeline.probes.clock_rate import ClockRate
from pipeline.probes.host import HostFigures
from pipeline.probes.perf_counters import PerfCounters
from pipeline.probes.pressure import Pressure
from pipeline.probes.processes import ProcessTree


def all_probes(server: int, client: int | None = None) -> list[Probe]:
    """Return all probes for a server and its load generator, given by their process ids.

    For a DBMS that runs inside the load generator, ``server`` is the load generator and ``client``
    is None.
    """
    probes: list[Probe] = [HostFigures(), ClockRate(), Pressure()]
    probes += [ProcessTree("server", server), PerfCounters(server)]
    if client is not None:
        probes.append(ProcessTree("client", client))
    return probes
