"""Connect to the cloud with the configured settings, order servers, and reap expired ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pipeline.fleet.cloud import TIMEOUT, connect
from pipeline.fleet.fleet import Fleet
from pipeline.fleet.quote import Quote
from pipeline.fleet.resources import Swept
from pipeline.fleet.retry import RetryPolicy
from pipeline.fleet.runners import find_runners
from pipeline.storage.journal import now
from pipeline.storage.server_log import note_reaped
from pipeline.use_cases.context import Context
from pipeline.use_cases.plan import due_work
from pipeline.use_cases.planning import PlanningContext
from pipeline.use_cases.pursue import classes_to_pursue

_QUOTE_PATIENCE = 2.0
"""Seconds for which a quote retries requests to a cloud that does not respond."""
_QUOTE_TIMEOUT = (2.0, 3.0)
"""Timeouts of a request for a quote in seconds. With the retries, it fails within 7 s."""


def has_servers(context: Context, *, may_have: bool = False) -> bool:
    """Return whether nights rent servers, instead of using machines that always exist.

    With ``may_have``, also return True if there is a cloud token: an earlier configuration may have
    left servers.
    """
    if any(each.server_type for each in context.config.machine_class):
        return True
    return may_have and bool(os.environ.get(context.config.fleet.secret))


def fleet_of(context: Context, note: Callable[[str], None], *, quick: bool = False) -> Fleet:
    """Connect to the cloud project of a configuration.

    A ``quick`` fleet waits at most 10 s for a cloud that does not respond. Raises UserError without
    a token.
    """
    settings = context.config.fleet
    policy = RetryPolicy(settings.patience, note, unreachable=_QUOTE_PATIENCE if quick else None)
    cloud = connect(settings, policy, timeout=_QUOTE_TIMEOUT if quick else TIMEOUT)
    return Fleet(context.config, cloud, partial(find_runners, context.config, policy), note)


def order_night(
    context: PlanningContext,
    night: str,
    note: Callable[[str], None],
    *,
    seconds: float = 0.0,
    attempt: int = 1,
    variables: Path | None = None,
) -> Quote:
    """Return the quote for the servers that a night needs for its remaining work.

    If it needs any, and ``variables`` is given, their runners are registered, and the variables
    from which Terraform creates the servers are written to that file. ``seconds`` is the servers'
    time to live; 0 means the configured one. Raises QuoteRefusedError as :meth:`Fleet.gate` does if
    the servers are not allowed.
    """
    fleet = fleet_of(context, note, quick=True)
    # What is due takes seconds to find: a cloud that does not respond is reported before.
    fleet.ask_prices()
    work = {**dict.fromkeys(classes_to_pursue(context), 0.0), **due_work(context)}
    asked = fleet.gate(night, work, seconds)
    if variables is not None and asked.server_requests:
        fleet.order(asked, night, seconds, attempt).write(variables)
    return asked


def reap(context: Context, note: Callable[[str], None]) -> Swept:
    """Delete the resources past their time to live; if none remain, record the time."""
    swept = fleet_of(context, note).reap()
    if not swept.left:
        note_reaped(context.results, now())
    return swept
