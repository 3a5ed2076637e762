"""The verb confirm."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.analyse.confirm import (
    Outcome,
    confirm,
    evidence_of,
    experiment_of,
    outcome_in,
    share_night,
    suspected,
)
from pipeline.analyse.detected import load_detected
from pipeline.analyse.identity import meant_by
from pipeline.analyse.kinds import KINDS
from pipeline.analyse.record import Experiment, aside
from pipeline.analyse.refresh import refresh
from pipeline.cli.app import app
from pipeline.cli.console import out, screen, warn
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError
from pipeline.execute.plan import Plan
from pipeline.execute.watch import Watcher
from pipeline.journal import now
from pipeline.model import Regression
from pipeline.units import counted, show_duration


@app.command("confirm")
def confirm_verb(
    fingerprint: Annotated[
        list[str] | None,
        typer.Argument(
            help="Only these, by the beginning; all suspected ones if none.", show_default=False
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Measure everything anew.")] = False,
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Measure suspected regressions again, worst first.

    Regressions come first, then improvements. What was confirmed or rejected is measured anew if it
    was reopened, and what is undecided goes on where it was.

    Example: nightshift confirm --format json
    """
    context = MeasuringContext(config, quick)
    plan = context.plan()
    # Outcomes of a verb that was killed are not in the journal yet.
    refresh(context.results, context.store, now())
    regressions = suspected(load_detected(context.results, plan).regressions)
    if fingerprint:
        regressions = [_named(regressions, each) for each in fingerprint]
    outcomes = confirm_all(context, plan, regressions, make_watcher(screen()), again)
    if form is Format.JSON:
        print_json([outcome.model_dump(mode="json") for outcome in outcomes])
        return
    about = {regression.fingerprint: regression for regression in regressions}
    for outcome in outcomes:
        line = _line(outcome, about[outcome.fingerprint])
        out.print(line, style=_style(outcome), markup=False)
    left = len(regressions) - len(outcomes)
    if left:
        out.print(f"{counted(left, 'suspicion')} left for another night")
    if not regressions:
        out.print("nothing is suspected")


def _named(regressions: list[Regression], fingerprint: str) -> Regression:
    known = {one.fingerprint: one for one in regressions}
    matching = meant_by(fingerprint, known)
    if len(matching) != 1:
        raise UserError(
            f"{'several suspected begin with' if matching else 'nothing suspected is called'} "
            f"{fingerprint}; `nightshift regressions` lists what is, `nightshift reopen` makes one "
            "that was rejected suspected again"
        )
    return known[matching[0]]


def confirm_all(
    context: MeasuringContext,
    plan: Plan,
    regressions: list[Regression],
    watcher: Watcher,
    again: bool = False,
    go_on: bool = True,
    seconds: float | None = None,
) -> list[Outcome]:
    """Confirm what is suspected in its order, in ``seconds`` that they share.

    Without that is the whole time of a night.
    With ``go_on`` those that are undecided go on, without it only those of which more was measured
    since. One that is suspected though it was decided was reopened, and is measured anew. One that
    cannot be measured is told and does not hold up the others. What came of them is taken into the
    journal.
    """
    outcomes: dict[str, Outcome] = {}
    waiting: list[tuple[Regression, Experiment]] = []
    for regression in regressions:
        try:
            experiment = experiment_of(regression, plan, context.config.confirm)
        except UserError as error:
            warn(str(error))
            continue
        known = outcome_in(experiment.place(context.results))
        if again or (known is not None and known.verdict != "undecided"):
            aside(experiment, context.results)
            known = None
        if known is not None:
            outcomes[regression.fingerprint] = known
        if known is None or go_on or known.evidence != evidence_of(regression):
            waiting.append((regression, experiment))

    def measure(regression: Regression, experiment: Experiment, seconds: float) -> float:
        known = outcomes.get(regression.fingerprint)
        try:
            outcome = _measured(context, experiment, regression, seconds, watcher)
        except UserError as error:
            warn(str(error))
            return 0.0
        outcomes[regression.fingerprint] = outcome
        return 60.0 * (outcome.minutes - (known.minutes if known is not None else 0.0))

    night = context.config.confirm.night if seconds is None else seconds
    share_night(waiting, night, measure)
    refresh(context.results, context.store, now())
    return [outcomes[each.fingerprint] for each in regressions if each.fingerprint in outcomes]


def _measured(
    context: MeasuringContext,
    experiment: Experiment,
    regression: Regression,
    seconds: float,
    watcher: Watcher,
) -> Outcome:
    folder = experiment.folder(context.results)
    runner = context.runner(folder, watcher)
    watcher.begin("confirm", min(experiment.question.seconds, seconds))
    try:
        with runner:
            return confirm(experiment, regression, runner, folder, seconds, context.clock)
    finally:
        watcher.end()


def _style(outcome: Outcome) -> str | None:
    if outcome.verdict == "confirmed":
        return "yellow" if outcome.worse else "blue"
    return "magenta" if outcome.verdict == "environment" else None


def _line(outcome: Outcome, regression: Regression) -> str:
    """Say an outcome in one line."""
    way = "worse" if outcome.worse else "better"
    telling = [row for row in outcome.rows if row.verdict in (way, "failed")] or outcome.rows
    largest = max(telling, key=lambda row: abs(row.effect), default=None)
    what = ""
    if largest is not None:
        failed = largest.verdict == "failed"
        effect = "fails" if failed else KINDS[outcome.kind].told(largest.effect)
        what = f"  {effect}  {largest.step} {largest.metric}"
    note = f"  ({outcome.note})" if outcome.note else ""
    return (
        f"{outcome.verdict:<11}  {outcome.fingerprint}  {way:<6}  "
        f"{regression.line}: {regression.last_good} -> {regression.first_bad}{what}  "
        f"{counted(outcome.blocks, 'block')} in {show_duration(60.0 * outcome.minutes)}{note}"
    )
