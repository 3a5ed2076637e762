"""A probe of the processors' clock rate."""

from __future__ import annotations

from pipeline.machine.disturbance.processors import CLOCK_RATE, fastest
from pipeline.machine.kernel_files import Tree
from pipeline.model import FieldKind, SampledField


class ClockRate:
    """Reads the clock rate of the fastest processor."""

    fields: tuple[SampledField, ...] = (SampledField(CLOCK_RATE, FieldKind.GAUGE, "Hz"),)

    def __init__(self, tree: Tree | None = None) -> None:
        """Read the kernel files of ``tree``, by default this machine's."""
        self._tree = tree or Tree()

    def read(self) -> dict[str, float]:
        """Return the clock rate in Hz; empty where it is unknown, as on most virtual machines."""
        rate = fastest(self._tree)
        return {} if rate is None else {CLOCK_RATE: rate}
