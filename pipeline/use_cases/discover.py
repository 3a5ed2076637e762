"""The stage discover: ask sources which revisions exist."""

from __future__ import annotations

import logging

from pipeline.measure.discover import Discovered, Offer, discover
from pipeline.model import Revision
from pipeline.targets import find_target
from pipeline.text.errors import UserError
from pipeline.use_cases.measuring import MeasuringContext

_LOG = logging.getLogger(__name__)


def discover_stage(context: MeasuringContext, target: str, refresh: bool) -> Discovered:
    """Ask the sources of the configured lines, or all sources of a ``target``.

    With ``refresh``, sources that were queried within the last hour are queried again. Raises
    UserError for an unknown target, and if no source can be reached.
    """
    if target:
        return _everywhere(context, target, refresh)
    return discover(context.offers(), context.cache, context.results, refresh=refresh)


def _everywhere(context: MeasuringContext, name: str, refresh: bool) -> Discovered:
    """Ask every source of a target; warn about those that cannot be reached."""
    try:
        target = find_target(name)
    except KeyError as error:
        raise UserError(error.args[0]) from error
    found: dict[Offer, tuple[Revision, ...]] = {}
    for supply in target.supplies:
        offer = Offer(name, supply)
        try:
            found |= discover([offer], context.cache, None, refresh=refresh)
        except UserError as error:
            _LOG.warning(f"{name} from {supply.name}: {error}")
    if not found:
        raise UserError(f"no source of {name} can be reached; check the network and run again")
    return found
