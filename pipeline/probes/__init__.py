"""Probes: one small class each. This file only lists them."""

from __future__ import annotations

from pipeline.probes.base import Probe
from pipeline.probes.block_io import BlockIO
from pipeline.probes.clock_rate import ClockRate
from pipeline.probes.cpu import HostCpu
from pipeline.probes.memory import HostMemory
from pipeline.probes.perf_counters import PerfCounters
from pipeline.probes.pressure import Pressure
from pipeline.probes.processes import ProcessTree
from pipeline.probes.switches import ContextSwitches


def all_probes(server: int, client: int | None = None) -> list[Probe]:
    """Return every probe, attached to a server and its load generator by their process ids.

    ``client`` is None for a DBMS that runs inside the load generator, which is the server then.
    """
    probes: list[Probe] = [HostCpu(), ClockRate(), ContextSwitches(), BlockIO(), HostMemory()]
    probes += [Pressure(), ProcessTree("server", server), PerfCounters(server)]
    if client is not None:
        probes.append(ProcessTree("client", client))
    return probes
