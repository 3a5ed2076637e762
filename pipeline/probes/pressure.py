"""Pressure stall information (PSI): the time that work waited for a resource."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.model import FieldKind, SampledField

_FOLDER = Path("/proc/pressure")
_TOTAL = re.compile(r"^some .*\btotal=(\d+)$", re.MULTILINE)
_RESOURCES = ("cpu", "io", "memory")


class Pressure:
    """Microseconds since boot in which at least one task waited for a resource.

    This is the kernel's ``some`` (Documentation/accounting/psi.rst) of the whole host.
    """

    fields: tuple[SampledField, ...] = tuple(
        SampledField(f"psi.{resource}", FieldKind.COUNTER, "us") for resource in _RESOURCES
    )

    def __init__(self, folder: Path = _FOLDER) -> None:
        """Read the files of ``folder``, one for each resource."""
        self._folder = folder

    def read(self) -> dict[str, float]:
        """Return the available counters; older kernels, or a kernel parameter, may have none."""
        found = {}
        for resource in _RESOURCES:
            try:
                text = (self._folder / resource).read_text()
            except OSError:
                continue
            if total := _TOTAL.search(text):
                found[f"psi.{resource}"] = float(total[1])
        return found
