"""Rented servers as configured."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from pipeline.fleet.cloud import connect
from pipeline.fleet.fleet import Fleet
from pipeline.fleet.retry import RetryPolicy
from pipeline.fleet.runners import find_runners
from pipeline.use_cases.context import Context


def has_servers(context: Context, *, may_have: bool = False) -> bool:
    """Return whether nights rent servers, rather than use machines that always exist.

    Servers of an earlier configuration may exist: with ``may_have``, a token is sufficient.
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
