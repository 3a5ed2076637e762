"""Types that all experiments use: what is compared, and the machine that measures.

An experiment runs cells in its own order until it has an answer. Its bundles are kept apart from
those of the nights (``results/experiments/NAME/``): runs made because of a suspicion must not be
evidence for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from pipeline.model import Cell


class Figure(NamedTuple):
    """One metric of one step."""

    step: str
    metric: str


Figures = Mapping[Figure, float]
"""The figures of one run of a cell. A step that failed has none."""


class Runner(Protocol):
    """Measures cells for an experiment, on a real machine or, in tests, a simulated one.

    The attempts of a cell are counted from 1. An attempt that exists is not repeated, but its
    figures are returned, so a killed experiment resumes where it was.
    """

    def prepare(self, cell: Cell) -> None:
        """Make the build of a cell, unless it exists.

        Raises :class:`pipeline.measure.build.NotBuiltError` for a revision that does not build.
        """
        ...

    def built(self, cell: Cell) -> bool:
        """Whether the build of a cell exists."""
        ...

    def measure(self, cell: Cell, attempt: int) -> Figures:
        """Run a cell once on a freshly started server; return the value of each metric.

        Raises as :meth:`prepare` does.
        """
        ...
