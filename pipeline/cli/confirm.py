"""The verb confirm."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.analyse.bench import BenchRunner
from pipeline.analyse.confirm import Outcome, confirm, experiment_of, outcome_in, suspected
from pipeline.analyse.detection import load_detected
from pipeline.analyse.record import Experiment, aside
from pipeline.analyse.settle import refresh
from pipeline.cli.app import app
from pipeline.cli.context import (
    ConfigOption,
    Context,
    Format,
    FormatOption,
    QuickOption,
    out,
    print_json,
    screen,
    warn,
)
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError
from pipeline.execute.plan import Plan
from pipeline.execute.watch import Watcher
from pipeline.journal import now
from pipeline.model import Regression
from pipeline.units import counted, show_duration

_STYLES = {"confirmed": "yellow", "environment": "magenta"}


@app.command("confirm")
def confirm_verb(
    fingerprint: Annotated[
        list[str] | None,
        typer.Argument(help="Only these regressions; all suspected ones if none.", show_default=""),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Measure everything anew.")] = False,
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Measure the suspected regressions again, worst first.

    What was confirmed or rejected is not measured again, what is undecided goes on where it was,
    and where the machine moved it begins anew.

    Example: nightshift confirm --format json
    """
    context = Context(config, quick)
    plan = context.plan()
    regressions = suspected(load_detected(context.results, plan).regressions)
    if fingerprint:
        known = {regression.fingerprint: regression for regression in regressions}
        for each in fingerprint:
            if each not in known:
                raise UserError(
                    f"no suspected regression is called {each}; `nightshift regressions` lists "
                    "them, `nightshift reopen` makes one that was rejected suspected again"
                )
        regressions = [known[each] for each in fingerprint]
    outcomes = confirm_all(context, plan, regressions, make_watcher(screen()), again)
    if form is Format.JSON:
        print_json([outcome.model_dump(mode="json") for outcome in outcomes])
        return
    for outcome in outcomes:
        out.print(_line(outcome), style=_STYLES.get(outcome.verdict), markup=False)
    left = len(regressions) - len(outcomes)
    if left:
        out.print(f"{counted(left, 'regression')} left for another night")
    if not regressions:
        out.print("no regression is suspected")


def confirm_all(
    context: Context,
    plan: Plan,
    regressions: list[Regression],
    watcher: Watcher,
    again: bool = False,
    fresh: bool = True,
) -> list[Outcome]:
    """Confirm regressions in their order, until the budget of the night is spent.

    Undecided ones go on where something ``fresh`` was measured since. One that cannot be measured
    is told and does not hold up the others. What came of them is taken into the journal.
    """
    settings = context.config.confirm
    left, outcomes = settings.night, []
    for regression in regressions:
        try:
            experiment = experiment_of(regression, plan, settings)
            known = outcome_in(experiment.place(context.results))
            if again or (known is not None and known.verdict == "environment"):
                # What was measured while the machine moved is of no use.
                aside(experiment, context.results)
                known = None
            if known is not None and (known.verdict != "undecided" or not fresh):
                outcomes.append(known)
                continue
            if left <= 0:
                continue
            outcome = _measured(context, experiment, regression.fingerprint, left, watcher)
        except UserError as error:
            warn(str(error))
            continue
        left -= 60.0 * (outcome.minutes - (known.minutes if known is not None else 0.0))
        outcomes.append(outcome)
    refresh(context.results, context.store, now())
    return outcomes


def _measured(
    context: Context, experiment: Experiment, fingerprint: str, left: float, watcher: Watcher
) -> Outcome:
    machine = context.config.machine
    folder = experiment.folder(context.results)
    runner = BenchRunner(
        folder,
        context.builder,
        context.workspace,
        context.machine,
        watcher,
        pin=machine.pin,
        port=machine.port,
    )
    watcher.begin("confirm", min(experiment.question.seconds, left))
    try:
        with runner:
            return confirm(experiment, fingerprint, runner, folder, left)
    finally:
        watcher.end()


def _line(outcome: Outcome) -> str:
    """Say an outcome in one line."""
    worst = max(outcome.rows, key=lambda row: abs(row.effect), default=None)
    what = f"  {worst.effect:+.1%} {worst.step} {worst.metric}" if worst is not None else ""
    note = f"  ({outcome.note})" if outcome.note else ""
    return (
        f"{outcome.verdict:<11}  {outcome.fingerprint}{what}  "
        f"{counted(outcome.blocks, 'block')} in {show_duration(60.0 * outcome.minutes)}{note}"
    )
