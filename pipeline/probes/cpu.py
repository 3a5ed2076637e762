"""Processor time of the whole host."""

from __future__ import annotations

import psutil

from pipeline.model import FieldKind, SampledField


class HostCpu:
    """Seconds of processor time since boot, summed over all processors."""

    name = "cpu"
    help = "host processor time: user, system, stolen by the hypervisor, and all"
    fields: tuple[SampledField, ...] = (
        SampledField("host.user", FieldKind.COUNTER, "s"),
        SampledField("host.system", FieldKind.COUNTER, "s"),
        SampledField("host.steal", FieldKind.COUNTER, "s"),
        SampledField("host.total", FieldKind.COUNTER, "s"),
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
