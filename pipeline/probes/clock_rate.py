"""The clock rate of the processors."""

from __future__ import annotations

from pipeline.machine.disturbance.processors import CLOCK_RATE, fastest
from pipeline.machine.tree import Tree
from pipeline.model import FieldKind, SampledField


class ClockRate:
    """How fast the fastest processor runs; of busy ones that is how fast they may."""

    name = "clock rate"
    help = "clock rate of the fastest processor, where the kernel tells it"
    fields: tuple[SampledField, ...] = (SampledField(CLOCK_RATE, FieldKind.GAUGE, "Hz"),)

    def __init__(self, tree: Tree | None = None) -> None:
        """Read the files of ``tree``, by default this machine's."""
        self._tree = tree or Tree()

    def read(self) -> dict[str, float]:
        """Return the rate in Hz; nothing on virtual machines, which mostly are not told."""
        rate = fastest(self._tree)
        return {} if rate is None else {CLOCK_RATE: rate}
