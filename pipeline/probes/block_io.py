"""Storage reads and writes of the whole host."""

from __future__ import annotations

import psutil

from pipeline.model import FieldKind, SampledField


class BlockIO:
    """Reads and writes of all storage devices since boot, as iostat counts them."""

    name = "block-io"
    help = "reads and writes of the host's storage devices"
    fields: tuple[SampledField, ...] = (
        SampledField("disk.reads", FieldKind.COUNTER, "count"),
        SampledField("disk.read_bytes", FieldKind.COUNTER, "bytes"),
        SampledField("disk.writes", FieldKind.COUNTER, "count"),
        SampledField("disk.write_bytes", FieldKind.COUNTER, "bytes"),
    )

    def read(self) -> dict[str, float]:
        """Return the counters, or nothing where the kernel shows no storage device."""
        now = psutil.disk_io_counters()
        if now is None:
            return {}
        return {
            "disk.reads": float(now.read_count),
            "disk.read_bytes": float(now.read_bytes),
            "disk.writes": float(now.write_count),
            "disk.write_bytes": float(now.write_bytes),
        }
