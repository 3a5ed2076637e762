"""List all alarms with their outcomes and costs, and the smallest detectable changes."""

from __future__ import annotations

from pipeline.ledger.ledger import Ledger, make_ledger
from pipeline.regressions.detect import searched_series
from pipeline.storage.journal import now
from pipeline.use_cases.detect import rules_of
from pipeline.use_cases.measuring import MeasuringContext


def ledger_of(context: MeasuringContext) -> Ledger:
    """Return the ledger: the outcomes of all alarms, and the smallest detectable changes."""
    plan = context.plan()
    return make_ledger(
        context.regressions.known(now()).values(),
        searched_series(context.store, plan, context.config.detect, context.results),
        rules_of(context),
        context.results,
        context.store,
    )
