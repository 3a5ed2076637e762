"""A probe of the whole machine: processor time, context switches, disks, memory."""

from __future__ import annotations

import psutil

from pipeline.model import FieldKind, SampledField

_COUNTER, _GAUGE = FieldKind.COUNTER, FieldKind.GAUGE


class HostFigures:
    """Reads counters of the whole machine: processors, disks and memory."""

    fields: tuple[SampledField, ...] = (
        SampledField("host.user", _COUNTER, "s"),
        SampledField("host.system", _COUNTER, "s"),
        SampledField("host.steal", _COUNTER, "s"),
        SampledField("host.total", _COUNTER, "s"),
        SampledField("host.cs", _COUNTER, "count"),
        SampledField("disk.reads", _COUNTER, "count"),
        SampledField("disk.read_bytes", _COUNTER, "bytes"),
        SampledField("disk.writes", _COUNTER, "count"),
        SampledField("disk.write_bytes", _COUNTER, "bytes"),
        SampledField("host.available", _GAUGE, "bytes"),
        SampledField("host.cached", _GAUGE, "bytes"),
    )

    def read(self) -> dict[str, float]:
        """Return all values; the values of disks are missing if the kernel shows no disks.

        Time of processes with a nice value counts as user time and time of interrupts as system
        time, as in vmstat. Switches are vmstat's cs; reads and writes are iostat's.
        """
        cpu, memory, disks = psutil.cpu_times(), psutil.virtual_memory(), psutil.disk_io_counters()
        figures = {
            "host.user": cpu.user + cpu.nice,
            "host.system": cpu.system + cpu.irq + cpu.softirq,
            "host.steal": cpu.steal,
            # Guest time is already inside user time.
            "host.total": sum(cpu) - cpu.guest - cpu.guest_nice,
            "host.cs": float(psutil.cpu_stats().ctx_switches),
            "host.available": float(memory.available),
            "host.cached": float(memory.cached),
        }
        if disks is None:
            return figures
        return figures | {
            "disk.reads": float(disks.read_count),
            "disk.read_bytes": float(disks.read_bytes),
            "disk.writes": float(disks.write_count),
            "disk.write_bytes": float(disks.write_bytes),
        }
