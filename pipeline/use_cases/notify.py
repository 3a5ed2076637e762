"""The notify stage: report regressions to every sink (files, GitHub, webhook, Slack)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cache, partial
from typing import NamedTuple

from pipeline.measure.discover import Discovered, discovered
from pipeline.measure.plan import Plan
from pipeline.model import Regression, RegressionState
from pipeline.notify import MESSENGERS, find_sinks
from pipeline.notify.base import (
    Cause,
    Notice,
    PersonDecision,
    PullRequestReader,
    RegressedCommit,
    Sink,
    SinkAction,
    SinkResult,
    Words,
)
from pipeline.notify.base.decisions import take_decisions
from pipeline.notify.base.links import Lookup, Pages, RevisionOrigin, repository_name
from pipeline.notify.base.preview import Preview
from pipeline.notify.base.text import Facts, by_label, by_verbs, notice
from pipeline.regressions.grouping import by_cause, effect_size, worst
from pipeline.regressions.states import KnownRegressions
from pipeline.storage.journal import Event, now
from pipeline.text.errors import UserError
from pipeline.use_cases.event_log import event_log
from pipeline.use_cases.explain import is_unproven, why
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.reproduce import present_script
from pipeline.use_cases.reproduction import reproduce
from pipeline.use_cases.verify_fix import verification_of

_LOG = logging.getLogger(__name__)


class Notified(NamedTuple):
    """What each sink did, or the error that stopped it.

    ``decided`` are the decisions that people made in the sinks.
    """

    results: Mapping[str, SinkResult]
    mistakes: Mapping[str, UserError]
    decided: tuple[Event, ...]

    @property
    def kept(self) -> list[SinkAction]:
        """Return the files and issues that were written, without messages that were sent."""
        kept = (result for name, result in self.results.items() if name not in MESSENGERS)
        return [action for result in kept for action in result.actions]

    def lines(self) -> Iterator[str]:
        """Yield a line for each written file or issue and each sent message."""
        for name, result in self.results.items():
            for action in result.actions:
                new = " (new)" if action.new else ""
                if name not in MESSENGERS:
                    yield f"{action.place}{new}"
                elif action.changed:
                    yield f"{action.place}: {action.fingerprint}{new}"

    def problems(self) -> Iterator[str]:
        """Yield a line for each report that could not be sent tonight, with the reason."""
        for name, result in self.results.items():
            for line in result.left:
                yield f"{name}: {line}"
        for name, mistake in self.mistakes.items():
            yield f"{name}: {mistake}"


def notify_detected(
    context: MeasuringContext, show: Callable[[Preview], None] | None = None
) -> Notified:
    """Report the regressions of the last detection; with ``show``, only pass the reports to it.

    Raises UserError if a sink lacks a setting, or if detection has not run for this plan.
    """
    # A preview changes nothing, so it has no log.
    with event_log(context, "notify") if show is None else nullcontext():
        sinks = find_sinks(context.config, show=show)
        plan = context.plan()
        # Raises UserError if the detection is of another plan.
        context.regressions.detection_of(plan, now())
        return notify(context, plan, sinks, dry_run=show is not None)


def notify(
    context: MeasuringContext, plan: Plan, sinks: Sequence[Sink], *, dry_run: bool = False
) -> Notified:
    """Record what people decided in the sinks, then report every regression to all sinks.

    Regressions that the last detection no longer found are included, because a decision may have
    changed their state. An error of one sink does not stop the others. With ``dry_run`` nothing is
    written, but decisions are returned; the sinks must have been opened with ``dry_run``, too.
    """
    mistakes: dict[str, UserError] = {}
    at = now()
    standing = context.regressions.known(at)
    said = [*_decisions(sinks, mistakes), *_accepted(context, plan, sinks, standing)]
    decided = take_decisions(said, standing)
    if not dry_run:
        context.regressions.record(decided, at)
    known = context.regressions.known(at, decided if dry_run else ())
    regressions = [each.regression for each in known.values()]
    regressions.sort(key=lambda regression: -effect_size(worst(regression)))
    unproven = frozenset(one.fingerprint for one in regressions if is_unproven(context, plan, one))
    causes = [Cause(regressions=each, unproven=unproven) for each in by_cause(regressions)]
    words = _words_of(context, plan, keep=not dry_run)
    results = {}
    for sink in sinks:
        if sink.name in mistakes:
            continue
        try:
            results[sink.name] = sink.report(
                causes, words(sink.name), suspected=context.config.notify.suspected
            )
        except UserError as error:
            mistakes[sink.name] = error
            continue
        for action in results[sink.name].actions:
            if action.changed:
                about = {"fingerprint": action.fingerprint, "place": action.place}
                _LOG.info("sink wrote", extra={"sink": sink.name, "new": action.new, **about})
    done = Notified(results, mistakes, tuple(decided))
    for line in done.problems():
        _LOG.warning(line)
    return done


def _decisions(sinks: Sequence[Sink], mistakes: dict[str, UserError]) -> list[PersonDecision]:
    """Read from all sinks what people decided; collect the errors of sinks."""
    found: list[PersonDecision] = []
    for sink in sinks:
        try:
            found += sink.decisions()
        except UserError as error:
            mistakes[sink.name] = error
    return found


def _accepted(
    context: MeasuringContext, plan: Plan, sinks: Sequence[Sink], known: KnownRegressions
) -> list[PersonDecision]:
    """Return acceptances in pull requests of regressions that have no decision yet."""
    readers = [sink for sink in sinks if isinstance(sink, PullRequestReader)]
    undecided = [
        each.regression
        for each in known.values()
        if each.state in (RegressionState.SUSPECTED, RegressionState.CONFIRMED)
        and each.regression.worse
    ]
    if not readers or not undecided:
        return []
    discovered = _discovered(context)
    commits = {
        one.fingerprint: commit
        for one in undecided
        if (commit := regressed_commit(one, _origins(plan, discovered, one))) is not None
    }
    return [decision for reader in readers for decision in reader.accepted(commits)]


def regressed_commit(regression: Regression, find: Lookup) -> RegressedCommit | None:
    """Return the commit of a regression, if known: its culprit, or else the first bad revision."""
    culprit = regression.culprit
    sure = culprit is not None and culprit.confirmed
    origin = find(culprit.revision if culprit is not None and sure else regression.first_bad)
    repository = repository_name(origin.supply)
    if not repository or origin.supply is None or origin.supply.kind != "git":
        return None
    return RegressedCommit(repository=repository, sha=origin.name, target=regression.target)


def _words_of(context: MeasuringContext, plan: Plan, *, keep: bool) -> Callable[[str], Words]:
    """Return a function that writes the report about a regression."""
    hub = context.config.hub
    pages = Pages(report=hub.report_url, site=hub.site_url, grafana=hub.grafana_url)
    # Most nights word nothing, and the list of a long line takes a quarter of a second to read.
    found = cache(partial(_discovered, context))

    # All sinks use the same notice, and an explanation takes seconds: cache it.
    facts: dict[str, Facts] = {}

    def facts_of(regression: Regression) -> Facts:
        if regression.fingerprint not in facts:
            facts[regression.fingerprint] = Facts(
                reproduce=reproduce(context, plan, regression),
                why=why(context, plan, regression, keep=keep),
                script=present_script(context.results, regression),
                fix=_fix(context, regression),
                find=_origins(plan, found(), regression),
                pages=pages,
            )
        return facts[regression.fingerprint]

    def of_sink(name: str) -> Words:
        def words(regression: Regression, beside: Sequence[Regression]) -> Notice:
            decide = by_verbs(regression.fingerprint, regression.state)
            if name == "github":
                decide = by_label(context.config.github.acknowledged, regression.state)
            return notice(regression, beside, facts_of(regression)._replace(decide=decide))

        return words

    return of_sink


def _fix(context: MeasuringContext, regression: Regression) -> str:
    """Describe the last fix that was measured; empty if there is none."""
    found = verification_of(context.results, regression.fingerprint)
    return found.sentence() if found is not None else ""


def _discovered(context: MeasuringContext) -> Discovered:
    try:
        return discovered(context.results)
    except UserError:
        # Revisions of imported series were not discovered, so there is nothing to link to.
        return {}


def _origins(plan: Plan, found: Discovered, regression: Regression) -> Lookup:
    """Return a function that finds where the revision of a regression comes from.

    Revisions of its line come first. A culprit may be on another line (the commits between two
    releases), or may not have been measured.
    """
    origins: dict[str, RevisionOrigin] = {}
    lines = sorted(plan.lines, key=lambda line: line.name != regression.line)
    listed = [line.revisions for line in lines if line.target == regression.target]
    listed += [revisions for offer, revisions in found.items() if offer.target == regression.target]
    for revisions in listed:
        for one in revisions:
            origins.setdefault(one.version, RevisionOrigin(one.supply, one.locator))
    # A control has the origin of the revision that it copies.
    return lambda label: origins.get(label.partition("#")[0], RevisionOrigin())
