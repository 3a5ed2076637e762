"""What all table layouts share: options, and the beginning of a table."""

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
    """Return the metric that a table shows by default: throughput, or instructions."""
    return INSTRUCTIONS if subject.workload.mode is Mode.COUNT else THROUGHPUT


@dataclass(frozen=True)
class TableOptions:
    """The options of a table: base, metric, decimals, colours.

    ``base`` is a label or published name of a revision; empty for the first.
    """

    settings: ReportSection
    base: str = ""
    metric: str = ""
    decimals: int | None = None


Make = Callable[[Sequence[MeasuredSubject], TableOptions], list[Grid]]
"""Returns the grids of a line's subjects; no grids if the layout has nothing to show.

Raises UserError for a base that no subject has.
"""


class TableLayout(NamedTuple):
    """A layout of tables: what it shows, and which results it needs."""

    help: str
    needs: str
    any_metric: bool
    make: Make
