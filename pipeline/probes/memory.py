"""Memory of the whole host."""

from __future__ import annotations

import psutil

from pipeline.model import FieldKind, SampledField


class HostMemory:
    """Memory that is available and what the page cache holds."""

    name = "memory"
    help = "available memory and page cache of the host"
    fields: tuple[SampledField, ...] = (
        SampledField("host.available", FieldKind.GAUGE, "bytes"),
        SampledField("host.cached", FieldKind.GAUGE, "bytes"),
    )

    def read(self) -> dict[str, float]:
        """Return both gauges."""
        now = psutil.virtual_memory()
        return {"host.available": float(now.available), "host.cached": float(now.cached)}
