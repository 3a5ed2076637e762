"""Context switches of the whole host."""

from __future__ import annotations

import psutil

from pipeline.model import FieldKind, SampledField


class ContextSwitches:
    """Context switches since boot, as vmstat's cs."""

    name = "switches"
    help = "context switches of the host"
    fields: tuple[SampledField, ...] = (SampledField("host.cs", FieldKind.COUNTER, "count"),)

    def read(self) -> dict[str, float]:
        """Return the counter."""
        return {"host.cs": float(psutil.cpu_stats().ctx_switches)}
