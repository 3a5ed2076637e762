"""The build stage: make one build, or every build that the plan needs."""

from __future__ import annotations

import logging
from typing import NamedTuple

from pipeline.measure.build import NotBuiltError, default_options
from pipeline.measure.discover import Offer, look_up, supply_at
from pipeline.measure.progress import Watcher
from pipeline.measure.run import build_all
from pipeline.measure.supplies import supplies_of
from pipeline.model import Build
from pipeline.text.errors import UserError, did_you_mean
from pipeline.use_cases.event_log import logged
from pipeline.use_cases.measuring import MeasuringContext

_LOG = logging.getLogger(__name__)


class BuildRequest(NamedTuple):
    """Which build to make; empty fields mean the defaults of the target."""

    target: str
    revision: str
    source: str = ""
    repository: str = ""
    branch: str = ""
    options: str = ""


@logged("build")
def build_one(
    context: MeasuringContext, asked: BuildRequest, again: bool, watcher: Watcher
) -> Build:
    """Make one build; with ``again`` even if it failed before.

    Raises UserError for an unknown revision, and if the build fails.
    """
    if not asked.revision:
        raise UserError(
            f"name the revision of {asked.target} to build; `nightshift discover {asked.target}` "
            "lists them"
        )
    offer = _offer(context, asked)
    return _one(context, offer, asked.revision, asked.options, again, watcher)


def _offer(context: MeasuringContext, asked: BuildRequest) -> Offer:
    try:
        supplies = supplies_of(context.file, asked.target)
    except KeyError as error:
        raise UserError(error.args[0]) from error
    by_name = {supply.name: supply for supply in supplies}
    name = asked.source or ("git" if asked.repository and "git" in by_name else supplies[0].name)
    if name not in by_name:
        raise UserError(f"{asked.target} has no source {name!r}; {did_you_mean(name, by_name)}")
    try:
        return Offer(asked.target, supply_at(by_name[name], asked.repository, asked.branch))
    except ValueError as error:
        raise UserError(str(error)) from error


def _one(
    context: MeasuringContext,
    offer: Offer,
    version: str,
    options: str,
    again: bool,
    watcher: Watcher,
) -> Build:
    revision, _ = look_up(offer, version, context.cache, ask_again=True)
    if revision is None:
        raise UserError(
            f"{offer.supply.name} has no {offer.target} {version}; `nightshift discover "
            f"{offer.target}` lists the revisions"
        )
    options = options or default_options(offer.supply)
    if again:
        context.builder.forget(revision, options)
    if context.builder.find(revision, options) is None:
        watcher.note(f"preparing the build of {offer.target} {revision.version} ({options})")
    try:
        return context.builder.obtain(revision, options)
    except NotBuiltError as error:
        raise UserError(f"the build of {offer.target} {version} failed: {error}") from error


@logged("build")
def build_planned(context: MeasuringContext, again: bool, watcher: Watcher) -> list[Build]:
    """Make every build of the plan. Raises UserError if all of them fail."""
    cells = [cell for cell in context.plan().cells if not cell.imported]
    if again:
        for cell in cells:
            context.builder.forget(cell.revision, cell.build_options)
    builds = build_all(cells, context.builder, watcher)
    if builds.failures and not builds.made:
        raise UserError(next(iter(builds.failures.values())))
    for why in builds.failures.values():
        _LOG.warning(why)
    return list(builds.made.values())
