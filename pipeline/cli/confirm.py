"""The verb `confirm`: measure suspected regressions again, worst first."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.comparison_options import AgainOption, ModeOption
from pipeline.cli.console import out, screen
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.experiments.comparison_kinds import KINDS
from pipeline.experiments.confirm import (
    ConfirmOutcome,
)
from pipeline.model import Regression
from pipeline.text.units import plural, show_duration
from pipeline.use_cases.confirm import confirm_suspected
from pipeline.use_cases.measuring import MeasuringContext


@app.command("confirm")
def confirm_verb(
    fingerprint: Annotated[
        list[str] | None,
        typer.Argument(
            help=(
                "Fingerprints of the regressions to confirm, or their beginnings. Default: all "
                "suspected regressions."
            ),
            show_default=False,
        ),
    ] = None,
    again: AgainOption = False,
    mode: ModeOption = None,
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Measure suspected regressions again, worst first.

    Regressions come first, then improvements. A reopened regression is measured from the beginning;
    the measurement of an undecided one continues.

    Example: nightshift confirm --format json
    """
    context = MeasuringContext(config, quick)
    watcher = make_watcher(screen())
    regressions, outcomes = confirm_suspected(context, watcher, fingerprint or (), again, mode)
    if form is Format.JSON:
        print_json([outcome.model_dump(mode="json") for outcome in outcomes])
        return
    about = {regression.fingerprint: regression for regression in regressions}
    for outcome in outcomes:
        line = _line(outcome, about[outcome.fingerprint])
        out.print(line, style=_style(outcome), markup=False)
    left = len(regressions) - len(outcomes)
    if left:
        out.print(f"{plural(left, 'suspected regression')} left for the next night")
    if not regressions:
        out.print("there is no suspected regression")


def _style(outcome: ConfirmOutcome) -> str | None:
    if outcome.verdict == "confirmed":
        return "yellow" if outcome.worse else "blue"
    return "magenta" if outcome.verdict == "environment" else None


def _line(outcome: ConfirmOutcome, regression: Regression) -> str:
    """Describe the outcome of confirming one regression in one line."""
    way = "worse" if outcome.worse else "better"
    decisive = [row for row in outcome.rows if row.verdict in (way, "failed")] or outcome.rows
    largest = max(decisive, key=lambda row: abs(row.effect), default=None)
    what = ""
    if largest is not None:
        failed = largest.verdict == "failed"
        effect = "fails" if failed else KINDS[outcome.kind].format_effect(largest.effect)
        what = f"  {effect}  {largest.step} {largest.metric}"
    note = f"  ({outcome.note})" if outcome.note else ""
    return (
        f"{outcome.verdict:<11}  {outcome.fingerprint}  {way:<6}  "
        f"{regression.line}: {regression.last_good} -> {regression.first_bad}{what}  "
        f"{plural(outcome.blocks, 'block')} in {show_duration(60.0 * outcome.minutes)}{note}"
    )
