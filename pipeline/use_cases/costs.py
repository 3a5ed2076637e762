"""What rented servers cost, by night and by regression."""

from __future__ import annotations

from pipeline.ledger.cost_allocation import Bills, make_bills, measured_runs
from pipeline.storage.journal import now
from pipeline.storage.server_log import Servers, lives
from pipeline.use_cases.context import Context


def bills_of(context: Context) -> Bills:
    """Return what nights, runs and confirmed regressions cost, from the record of servers."""
    moment = now()
    return make_bills(
        list(lives(Servers(context.results).read()).values()),
        measured_runs(context.results, context.store),
        context.regressions.known(moment).values(),
        moment,
    )
