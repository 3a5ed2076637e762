"""The verb notify."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, NamedTuple

import typer

from pipeline.analyse.causes import by_cause
from pipeline.analyse.detected import load_detected
from pipeline.analyse.refresh import refresh
from pipeline.analyse.regressions import clearest, size, worst
from pipeline.analyse.states import Histories, histories
from pipeline.analyse.subjects import subject_text
from pipeline.cli.app import app
from pipeline.cli.console import out, warn
from pipeline.cli.explain import why
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError
from pipeline.execute.discover import Discovered, discovered
from pipeline.execute.plan import Plan
from pipeline.journal import Event, Journal, now
from pipeline.model import Regression, RegressionKind
from pipeline.notify import MESSENGERS, find_sinks
from pipeline.notify.base import Cause, Decision, Notice, Result, Sink, Told, Words
from pipeline.notify.base.decided import take_decisions
from pipeline.notify.base.links import Lookup, Origin, Pages
from pipeline.notify.base.preview import Preview
from pipeline.notify.base.wording import Facts, by_label, by_verbs, notice
from pipeline.store.regressions import stored_regressions

FIGURES = 3
"""Figures, those that changed most, in whose steps a regression is measured again."""


class Notified(NamedTuple):
    """What was told: by the names of sinks, what each did, or the mistake that kept it from it.

    ``decided`` is what people had decided there.
    """

    results: Mapping[str, Result]
    mistakes: Mapping[str, UserError]
    decided: tuple[Event, ...]

    @property
    def kept(self) -> list[Told]:
        """What is kept in files and issues, beside what was sent."""
        kept = (result for name, result in self.results.items() if name not in MESSENGERS)
        return [told for result in kept for told in result.told]

    def lines(self) -> Iterator[str]:
        """Say what was told, a line each: all files and issues, and the messages that were sent."""
        for name, result in self.results.items():
            for told in result.told:
                new = " (new)" if told.new else ""
                if name not in MESSENGERS:
                    yield f"{told.place}{new}"
                elif told.changed:
                    yield f"{told.place}: {told.fingerprint}{new}"

    def warn(self) -> None:
        """Say on standard error what was left for the next time, and why."""
        for name, result in self.results.items():
            for line in result.left:
                warn(f"{name}: {line}")
        for name, mistake in self.mistakes.items():
            warn(f"{name}: {mistake}")


@app.command("notify")
def notify_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be sent, and change nothing.")
    ] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Report regressions: files, GitHub issues, webhooks.

    Where that is says [notify]. What people decided there is taken into the journal first.

    Example: nightshift notify --dry-run
    """
    context = MeasuringContext(config, quick)
    shown: list[Preview] = []
    sinks = find_sinks(context.config, show=shown.append if dry_run else None)
    load_detected(context.results, context.plan())
    done = notify(context, sinks, dry_run=dry_run)
    if form is Format.JSON:
        print_json(_as_json(done) | ({"would": shown} if dry_run else {}))
    else:
        lines = [_decided_line(event) for event in done.decided]
        lines += map(_preview_text, shown) if dry_run else done.lines()
        nothing = "nothing would be sent" if dry_run else "no regression has to be filed"
        for line in lines or [nothing]:
            out.print(line, markup=False)
    done.warn()
    if done.mistakes:
        raise typer.Exit(2)


def notify(context: MeasuringContext, sinks: Sequence[Sink], *, dry_run: bool = False) -> Notified:
    """Take what people decided into the journal, and tell every known regression to all sinks.

    Also those that the last detection did not find any more: people may have decided something.
    What keeps one sink from it does not keep the others. With ``dry_run``, which the sinks have to
    know of, too, nothing is written; what would have been decided is told all the same.
    """
    plan = context.plan()
    mistakes: dict[str, UserError] = {}
    known = histories(Journal(context.results).read())
    decided = take_decisions(_decisions(sinks, mistakes), known)
    if not dry_run:
        Journal(context.results).append(decided)
        refresh(context.results, context.store, now())
    regressions = [row.regression for row in stored_regressions(context.store)]
    if dry_run:
        regressions = [_as_decided(one, known) for one in regressions]
    regressions.sort(key=lambda regression: -size(worst(regression)))
    causes = [Cause(regressions=each) for each in by_cause(regressions)]
    words = _words_of(context, plan, keep=not dry_run)
    results = {}
    for sink in sinks:
        if sink.name in mistakes:
            continue
        try:
            results[sink.name] = sink.tell(
                causes, words(sink.name), suspected=context.config.notify.suspected
            )
        except UserError as error:
            mistakes[sink.name] = error
    return Notified(results, mistakes, tuple(decided))


def _decisions(sinks: Sequence[Sink], mistakes: dict[str, UserError]) -> list[Decision]:
    """Ask all sinks what was decided; note ``mistakes`` that keep one from answering."""
    found: list[Decision] = []
    for sink in sinks:
        try:
            found += sink.decisions()
        except UserError as error:
            mistakes[sink.name] = error
    return found


def _as_decided(regression: Regression, known: Histories) -> Regression:
    """Return a regression in the state that the journal would give it."""
    history = known.get(regression.fingerprint)
    state = history.state if history is not None else regression.state
    return regression.model_copy(update={"state": state})


def _decided_line(event: Event) -> str:
    return f"{event.fingerprint} is {event.event.value} by {event.by}: {event.note}"


def _preview_text(shown: Preview) -> str:
    """Write what would be sent for a person; a file is text, and the rest is JSON."""
    payload = shown.payload
    if not isinstance(payload, str):
        payload = json.dumps(payload, indent=1, ensure_ascii=False)
    headers = "".join(f"{name}: {value}\n" for name, value in shown.headers.items())
    return f"{shown.sink}: {shown.method} {shown.place}\n{headers}\n{payload}\n"


def _as_json(done: Notified) -> dict[str, Any]:
    return {
        "new": [told.place for told in done.kept if told.new],
        "all": [told.place for told in done.kept],
        "sinks": {
            **done.results,
            **{name: {"mistake": str(error)} for name, error in done.mistakes.items()},
        },
        "decided": done.decided,
    }


def _words_of(context: MeasuringContext, plan: Plan, *, keep: bool) -> Callable[[str], Words]:
    """Return what finds the words for a sink. With ``keep`` explanations are kept, as always."""
    hub = context.config.hub
    pages = Pages(report=hub.report_url, site=hub.site_url, grafana=hub.grafana_url)
    found = _discovered(context)

    # What is said of a regression is the same in all sinks, and explaining it takes seconds.
    facts: dict[str, Facts] = {}

    def facts_of(regression: Regression) -> Facts:
        if regression.fingerprint not in facts:
            facts[regression.fingerprint] = Facts(
                reproduce=reproduce(context, plan, regression),
                why=why(context, plan, regression, keep=keep),
                find=_origins(plan, found, regression),
                pages=pages,
            )
        return facts[regression.fingerprint]

    def of_sink(name: str) -> Words:
        def words(regression: Regression, beside: Sequence[Regression]) -> Notice:
            decide = by_verbs(regression.fingerprint)
            if name == "github":
                decide = by_label(context.config.github.acknowledged)
            return notice(regression, beside, facts_of(regression)._replace(decide=decide))

        return words

    return of_sink


def _discovered(context: MeasuringContext) -> Discovered:
    try:
        return discovered(context.results)
    except UserError:
        # Imported series have revisions that nobody discovered, and there is nothing to link to.
        return {}


def _origins(plan: Plan, found: Discovered, regression: Regression) -> Lookup:
    """Return what says where the revisions of a regression are from.

    Those of its line come first: a culprit may be on another one, that of the commits between its
    releases, or may never have been measured.
    """
    origins: dict[str, Origin] = {}
    lines = sorted(plan.lines, key=lambda line: line.name != regression.line)
    listed = [line.revisions for line in lines if line.target == regression.target]
    listed += [revisions for offer, revisions in found.items() if offer.target == regression.target]
    for revisions in listed:
        for one in revisions:
            origins.setdefault(one.version, Origin(one.supply, one.locator))
    # A control is of the revision that it is a copy of.
    return lambda label: origins.get(label.partition("#")[0], Origin())


def reproduce(context: MeasuringContext, plan: Plan, regression: Regression) -> str:
    """Return the command that measures a regression again, from nothing.

    A change of a level is compared: the culprit with its parent, or else the first bad revision
    with the last good one, in the steps that changed most. All others take a night.
    """
    command = ["nightshift", "nightly", "--results", "again"]
    command += ["--quick"] if context.quick else []
    if regression.kind is RegressionKind.LEVEL:
        with suppress(UserError):
            command = _comparison(context, plan, regression)
    return shlex.join([*command, "--config", str(context.file.path)])


def _comparison(context: MeasuringContext, plan: Plan, regression: Regression) -> list[str]:
    shifts = clearest(regression, FIGURES)
    before, after = regression.last_good, regression.first_bad
    if regression.culprit is not None and regression.culprit.confirmed:
        before, after = regression.culprit.parent, regression.culprit.revision
    series = shifts[0].series
    supplies = [
        revision.supply
        for line in plan.lines
        for revision in line.revisions
        if line.name == regression.line
    ]
    supply = next(iter(supplies), None)
    sides = [subject_text(series, label, supply) for label in (before, after)]
    steps = dict.fromkeys(shift.series.step for shift in shifts)
    asked = [word for step in steps for word in ("--step", step)]
    # The workload of a quick night has no name in the file.
    chosen = [] if context.quick else ["--workload", series.workload]
    return ["nightshift", "compare", *sides, *asked, *chosen]
