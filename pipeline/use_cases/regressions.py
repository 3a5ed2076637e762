"""List all known regressions with their states."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from pipeline.explain.explanation import class_of
from pipeline.model import RegressionState
from pipeline.regressions.grouping import effect_size, worst
from pipeline.regressions.states import KnownRegression
from pipeline.storage.journal import now
from pipeline.use_cases.context import Context


class ListedRegression(NamedTuple):
    """A known regression, and why it is slower if it was explained."""

    known: KnownRegression
    why: str


def list_regressions(
    context: Context, states: Collection[RegressionState]
) -> list[ListedRegression]:
    """Return the regressions in some states, worst first, then the improvements."""
    rows = sorted(
        (row for row in context.regressions.known(now()).values() if row.state in states),
        key=lambda row: (not row.regression.worse, -effect_size(worst(row.regression))),
    )
    return [ListedRegression(row, class_of(row.regression, context.results)) for row in rows]
