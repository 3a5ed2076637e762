"""The discover stage: ask sources which revisions exist."""

from __future__ import annotations

import logging

from pipeline.measure.discover import (
    FILE,
    Discovered,
    Offer,
    discover,
    discovered,
    offers_of,
    remember,
)
from pipeline.measure.supplies import supplies_of
from pipeline.model import Revision
from pipeline.text.errors import UserError, did_you_mean
from pipeline.use_cases.measuring import MeasuringContext

_LOG = logging.getLogger(__name__)


def discover_stage(
    context: MeasuringContext, target: str, source: str, refresh: bool
) -> Discovered:
    """Ask the sources of the configured lines, or all sources of a ``target``.

    With ``source``, only this source of the target is asked. The revisions of configured lines are
    saved for the plan. With ``refresh``, sources that were queried within the last hour are queried
    again. Raises UserError for an unknown target or source, and if no source can be reached.
    """
    if target:
        found = _everywhere(context, target, source, refresh)
        _remember(context, found)
        return found
    if source:
        raise UserError("a source belongs to a DBMS; name the DBMS before --source")
    return discover(context.offers(), context.cache, context.results, refresh=refresh)


def _remember(context: MeasuringContext, found: Discovered) -> None:
    """Save which revisions exist for the configured lines; keep those of other sources."""
    if not context.config.line:
        return
    needed = {offer: found[offer] for offer in offers_of(context.file) if offer in found}
    if needed:
        before = discovered(context.results) if (context.results / FILE).exists() else {}
        remember({**before, **needed}, context.results)


def _everywhere(context: MeasuringContext, name: str, source: str, refresh: bool) -> Discovered:
    """Ask one or all sources of a target; warn about those that cannot be reached."""
    try:
        supplies = supplies_of(context.file, name)
    except KeyError as error:
        raise UserError(error.args[0]) from error
    names = [supply.name for supply in supplies]
    if source and source not in names:
        raise UserError(f"{name} has no source {source!r}; {did_you_mean(source, names)}")
    found: dict[Offer, tuple[Revision, ...]] = {}
    for supply in supplies:
        if source not in ("", supply.name):
            continue
        offer = Offer(name, supply)
        try:
            found |= discover([offer], context.cache, None, refresh=refresh)
        except UserError as error:
            _LOG.warning(f"{name} from {supply.name}: {error}")
    if not found:
        raise UserError(f"no source of {name} can be reached; check the network and run again")
    return found
