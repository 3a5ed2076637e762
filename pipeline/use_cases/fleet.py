"""Connect to the cloud with the configured settings, and reap expired servers."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from pipeline.fleet.cloud import connect
from pipeline.fleet.fleet import Fleet
from pipeline.fleet.resources import Swept
from pipeline.fleet.retry import RetryPolicy
from pipeline.fleet.runners import find_runners
from pipeline.storage.journal import now
from pipeline.storage.server_log import note_reaped
from pipeline.use_cases.context import Context


def has_servers(context: Context, *, may_have: bool = False) -> bool:
    """Return whether nights rent servers, rather than use machines that always exist.

    With ``may_have``, a cloud token is sufficient: servers of an earlier configuration may exist.
    """
    if any(each.server_type for each in context.config.machine_class):
        return True
    return may_have and bool(os.environ.get(context.config.fleet.secret))


def fleet_of(context: Context, note: Callable[[str], None]) -> Fleet:
    """Connect to the cloud project of a configuration.

    Raises UserError without a token.
    """
    policy = RetryPolicy(context.config.fleet.patience, note)
    cloud = connect(context.config.fleet, policy)
    return Fleet(context.config, cloud, partial(find_runners, context.config, policy), note)


def reap(context: Context, note: Callable[[str], None]) -> Swept:
    """Delete the resources past their time to live; record the time unless some remain."""
    swept = fleet_of(context, note).reap()
    if not swept.left:
        note_reaped(context.results, now())
    return swept
