"""The clock rate of the processors."""

from __future__ import annotations

from pipeline.machine.disturbance.processors import CLOCK_RATE, fastest
from pipeline.machine.kernel_files import Tree
from pipeline.model import FieldKind, SampledField


class ClockRate:
    """The clock rate of the fastest processor; under load, the rate that processors may run at."""

    fields: tuple[SampledField, ...] = (SampledField(CLOCK_RATE, FieldKind.GAUGE, "Hz"),)

    def __init__(self, tree: Tree | None = None) -> None:
        """Read the files of ``tree``, by default this machine's."""
        self._tree = tree or Tree()

    def read(self) -> dict[str, float]:
        """Return the rate in Hz; empty on most virtual machines, whose kernel does not know it."""
        rate = fastest(self._tree)
        return {} if rate is None else {CLOCK_RATE: rate}
