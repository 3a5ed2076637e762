"""Measuring again on purpose: the words that confirm, bisect and compare have in common.

An experiment runs cells in an order of its own, until it knows enough. Its bundles are kept apart
from those of the nights (``results/experiments/NAME/``): what is measured because of a suspicion
must not be evidence for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from pipeline.model import Cell


class Figure(NamedTuple):
    """What is looked at: one metric of one step."""

    step: str
    metric: str


Figures = Mapping[Figure, float]
"""What one run of a cell yielded. A step that failed has none."""


class Runner(Protocol):
    """A machine that measures cells; a simulated one in tests.

    The attempts of a cell are counted from 1. One that was made before is not made again: its
    figures are returned, so that an experiment that was killed goes on where it was.
    """

    def prepare(self, cell: Cell) -> None:
        """Obtain the build of a cell, if it is not there yet.

        Raises :class:`pipeline.execute.build.NotBuiltError` for a revision that does not build.
        """
        ...

    def built(self, cell: Cell) -> bool:
        """Say whether the build of a cell is there already."""
        ...

    def measure(self, cell: Cell, attempt: int) -> Figures:
        """Run a cell once, on a freshly started server, and return its figures.

        Raises as :meth:`prepare`.
        """
        ...
