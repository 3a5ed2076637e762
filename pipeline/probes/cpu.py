"""Processor time of the whole host."""

from __future__ import annotations

import psutil

from pipeline.probes.base import Field, Kind


class HostCpu:
    """Seconds of processor time since boot, summed over all processors."""

    name = "cpu"
    help = "host processor time: user, system, stolen by the hypervisor, and all"
    fields: tuple[Field, ...] = (
        Field("host.user", Kind.COUNTER, "s"),
        Field("host.system", Kind.COUNTER, "s"),
        Field("host.steal", Kind.COUNTER, "s"),
        Field("host.total", Kind.COUNTER, "s"),
    )

    def read(self) -> dict[str, float]:
        """Return the counters; nice counts as user, interrupts as system, as in vmstat."""
        now = psutil.cpu_times()
        return {
            "host.user": now.user + now.nice,
            "host.system": now.system + now.irq + now.softirq,
            "host.steal": now.steal,
            # Guest time is already inside user time.
            "host.total": sum(now) - now.guest - now.guest_nice,
        }
