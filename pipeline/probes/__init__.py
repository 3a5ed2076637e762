"""Probes: one small class each. This file only lists them."""

from __future__ import annotations

from pipeline.probes.base import Probe
from pipeline.probes.block_io import BlockIO
from pipeline.probes.cpu import HostCpu
from pipeline.probes.memory import HostMemory
from pipeline.probes.server import ServerProcesses
from pipeline.probes.switches import ContextSwitches


def all_probes(server_pid: int) -> list[Probe]:
    """Return every probe, attached to a server."""
    return [HostCpu(), ContextSwitches(), BlockIO(), HostMemory(), ServerProcesses(server_pid)]
