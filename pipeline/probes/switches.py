"""Context switches of the whole host."""

from __future__ import annotations

import psutil

from pipeline.probes.base import Field, Kind


class ContextSwitches:
    """Context switches since boot, as vmstat's cs."""

    name = "switches"
    help = "context switches of the host"
    fields: tuple[Field, ...] = (Field("host.cs", Kind.COUNTER, "count"),)

    def read(self) -> dict[str, float]:
        """Return the counter."""
        return {"host.cs": float(psutil.cpu_stats().ctx_switches)}
