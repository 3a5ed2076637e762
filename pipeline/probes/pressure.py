"""A probe of pressure (PSI): how long work waited for processor, memory or disk."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.model import FieldKind, SampledField

_FOLDER = Path("/proc/pressure")
_TOTAL = re.compile(r"^some .*\btotal=(\d+)$", re.MULTILINE)
_RESOURCES = ("cpu", "io", "memory")


class Pressure:
    """Reads how many microseconds work has waited for each resource since boot.

    The values are the totals of the lines ``some`` in /proc/pressure, for the whole host
    (Documentation/accounting/psi.rst of the kernel).
    """

    fields: tuple[SampledField, ...] = tuple(
        SampledField(f"psi.{resource}", FieldKind.COUNTER, "us") for resource in _RESOURCES
    )

    def __init__(self, folder: Path = _FOLDER) -> None:
        """Read the kernel's files in ``folder``, one for each resource."""
        self._folder = folder

    def read(self) -> dict[str, float]:
        """Return how long work waited for each resource; missing on older kernels."""
        found = {}
        for resource in _RESOURCES:
            try:
                text = (self._folder / resource).read_text()
            except OSError:
                continue
            if total := _TOTAL.search(text):
                found[f"psi.{resource}"] = float(total[1])
        return found
