"""The verb `bisect`: search for the revision that caused a regression."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from pipeline.cli.app import app
from pipeline.cli.comparison_options import BudgetOption, ModeOption, WorkloadOption
from pipeline.cli.console import out, screen
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption, read_option
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.experiments.bisect import Bisected, LocatedChange, RevisionDifference
from pipeline.experiments.culprit_search import answer
from pipeline.text.errors import UserError
from pipeline.text.units import parse_duration, parse_percent, plural
from pipeline.use_cases.bisect import RangeRequest, bisect_range, bisect_regression
from pipeline.use_cases.locate import NOT_SEEN
from pipeline.use_cases.measuring import MeasuringContext


@app.command("bisect")
def bisect_verb(
    fingerprint: Annotated[
        str,
        typer.Argument(
            help="Fingerprint of the regression, or the beginning of it.", show_default=False
        ),
    ] = "",
    line: Annotated[
        str, typer.Option(help="Name of a line in nightshift.toml, or a major version.")
    ] = "",
    good: Annotated[str, typer.Option(help="A good revision: one before the change.")] = "",
    bad: Annotated[str, typer.Option(help="A bad revision: one after the change.")] = "",
    target: Annotated[str, typer.Option(help="The DBMS, if --line is a major version.")] = "",
    step: Annotated[list[str] | None, typer.Option(help="A step that changed; repeatable.")] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="A metric that changed; repeatable. Default: [detect] metrics."),
    ] = None,
    workload: WorkloadOption = "",
    mode: ModeOption = None,
    smallest: Annotated[
        str,
        typer.Option(help="Smallest relative change that matters. Default: [detect] min_effect."),
    ] = "",
    budget: BudgetOption = "2h",
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Search for the revision that caused a regression.

    The search covers the range of a regression, or a given range of a line. After an interruption,
    the same command continues.

    Example: nightshift bisect 3f2a91c04b7e

    Example: nightshift bisect --target postgres --line 18 --good 18.0 --bad 18.3 --step insert
    """
    context = MeasuringContext(config, quick)
    seconds = read_option("budget", budget, parse_duration)
    watcher = make_watcher(screen())
    if fingerprint:
        if line or good or bad or step or metric or workload or smallest or mode:
            raise UserError(
                "the fingerprint already determines the line, the range and the steps; leave out "
                "the options that choose them"
            )
        found = bisect_regression(context, fingerprint, seconds, watcher)
    elif line and good and bad:
        asked = RangeRequest(
            line,
            good,
            bad,
            target,
            step or (),
            metric or (),
            workload,
            read_option("smallest", smallest, parse_percent) if smallest else None,
            mode,
        )
        found = bisect_range(context, asked, seconds, watcher)
    else:
        raise UserError(
            "give the fingerprint of a regression (`nightshift regressions` lists them), or a "
            "range with --line, --good and --bad"
        )
    if form is Format.JSON:
        print_json(as_json(found))
    else:
        show(found)
        if fingerprint and found.found and answer(found) is None:
            out.print(f"{NOT_SEEN} was found: the regression was not reproduced")


def as_json(found: Bisected) -> dict[str, Any]:
    """Return as JSON the largest change that a bisection found, or without one, its two ends."""
    worst = found.worst
    row = (worst.rows if worst else found.ends)[0]
    return {
        "outcome": found.outcome,
        "culprit": worst.culprit if worst else None,
        "parent": worst.parent if worst else None,
        "between": worst.between if worst else (),
        "probability": worst.probability if worst else None,
        "confirmed": worst.confirmed if worst else False,
        "step": row.step,
        "metric": row.metric,
        "effect": row.effect,
        "effect_interval": row.interval,
        "builds": found.builds,
        "runs": found.runs,
        **found.model_dump(mode="json", include={"good", "bad", "found", "ends"}),
    }


def show(found: Bisected) -> None:
    """Print each change that a bisection found, or how large a change it may have missed."""
    if not found.found:
        same = found.outcome == "no change"
        known = "do not differ" if same else "may or may not differ (undecided)"
        out.print(f"{found.good} and {found.bad} {known}", markup=False)
        _show_rows(found.ends)
    for each in found.found:
        out.print(_said(each), style="bold", markup=False)
        _show_rows(each.rows)
    out.print(f"{plural(found.builds, 'build')}, {plural(found.runs, 'run')}")


def _said(found: LocatedChange) -> str:
    # Rounded down, because no culprit is certain.
    sure = f"{math.floor(1000 * found.probability) / 10:.1f} %"
    if not found.confirmed:
        return f"range    after {found.parent} and up to {found.culprit} ({sure})"
    others = f", or {', '.join(found.between)} (not measured)" if found.between else ""
    return f"culprit  {found.culprit}{others}; parent {found.parent} ({sure}, confirmed)"


def _show_rows(rows: tuple[RevisionDifference, ...]) -> None:
    for row in rows:
        low, high = row.interval
        out.print(
            f"  {row.verdict:<9}  {row.step} {row.metric}  {row.effect:+.1%} "
            f"({low:+.1%} to {high:+.1%})",
            markup=False,
        )
