"""Shared parts of all layouts: the options, and the start of a subject's grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipeline.config import ReportSection
from pipeline.model import Mode
from pipeline.model.counts import INSTRUCTIONS
from pipeline.report.grid import Grid
from pipeline.report.tables import MeasuredSubject

THROUGHPUT = "qps"
"""The default metric of a table."""


def usual_metric(subject: MeasuredSubject) -> str:
    """Return the default metric of a subject: throughput, or what counted runs count."""
    return INSTRUCTIONS if subject.workload.mode is Mode.COUNT else THROUGHPUT


@dataclass(frozen=True)
class TableOptions:
    """The options of a table: base, metric, decimals (by default the layout's), colours.

    ``base`` is a label or published name of a revision; empty for the first.
    """

    settings: ReportSection
    base: str = ""
    metric: str = ""
    decimals: int | None = None


Make = Callable[[Sequence[MeasuredSubject], TableOptions], list[Grid]]
"""Returns the grids of a line's subjects; empty if the layout has nothing to show.

Raises UserError for a base that no subject has.
"""


class TableLayout(NamedTuple):
    """A layout: what it shows, what it requires, and whether its metric can be chosen."""

    help: str
    needs: str
    any_metric: bool
    make: Make
