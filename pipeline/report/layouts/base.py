"""What every layout works with: what was asked for, and how a grid of a subject begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipeline.config import ReportSection
from pipeline.errors import UserError, meant
from pipeline.report.grid import Grid
from pipeline.report.relative import Column
from pipeline.report.tables import Subject

THROUGHPUT = "qps"
"""The metric of a table when none is asked for."""


@dataclass(frozen=True)
class Wish:
    """What was asked for: a base, a metric, decimals (the layout's own if not), colours.

    ``base`` is a label or published name of a revision; empty for the first.
    """

    settings: ReportSection
    base: str = ""
    metric: str = ""
    decimals: int | None = None


Make = Callable[[Sequence[Subject], Wish], list[Grid]]
"""Returns the grids of a line's subjects; none where a layout has nothing to show.

Raises UserError for a base that no subject has.
"""


class Layout(NamedTuple):
    """A layout: what it shows, what has to be there for it, and whether a metric is chosen."""

    help: str
    needs: str
    any_metric: bool
    make: Make


def position_of(title: str, columns: Sequence[Column], base: str) -> int:
    """Return the place of the base among columns, the first if none is named.

    Raises UserError for an unknown one.
    """
    if not base:
        return 0
    for at, column in enumerate(columns):
        if base in (column.label, column.name):
            return at
    hint = meant(base, [column.label for column in columns])
    raise UserError(f"there is no {base!r} to compare with in {title}; {hint}")


def ratio(value: float | None, base: float | None) -> float | None:
    """Return value / base; None where one is missing or the base is zero."""
    return value / base if value is not None and base else None
