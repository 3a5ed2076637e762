"""The verb bisect."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from pipeline.analyse.bisect import Bisected, Found, Row
from pipeline.analyse.detected import load_detected
from pipeline.analyse.experiment import Figure
from pipeline.analyse.identity import meant_by
from pipeline.analyse.locate import answer
from pipeline.analyse.stretch import Ladder, ladder_of, revisions_between, workload_for
from pipeline.cli.app import app
from pipeline.cli.console import out, screen
from pipeline.cli.locate import NOT_SEEN, bisected, locate
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption, read_option
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError, meant
from pipeline.execute.discover import discover
from pipeline.execute.plan import Plan, make_cell
from pipeline.metrics import METRICS
from pipeline.model import Regression, Revision
from pipeline.units import counted, parse_duration, parse_percent


@app.command("bisect")
def bisect_verb(
    fingerprint: Annotated[
        str,
        typer.Argument(
            help="A regression, by the beginning of its fingerprint.", show_default=False
        ),
    ] = "",
    line: Annotated[str, typer.Option(help="A line of the configuration, or a major.")] = "",
    good: Annotated[str, typer.Option(help="The revision before the change.")] = "",
    bad: Annotated[str, typer.Option(help="A revision after it.")] = "",
    target: Annotated[str, typer.Option(help="The DBMS, if the line is a major.")] = "",
    step: Annotated[
        list[str] | None, typer.Option(help="A step that changed, any number of times.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="A metric that changed; those of [detect] without one."),
    ] = None,
    workload: Annotated[str, typer.Option(help="A workload of the configuration.")] = "",
    smallest: Annotated[
        str, typer.Option(help="Smallest change that matters; that of [detect] if not given.")
    ] = "",
    budget: Annotated[str, typer.Option(help="Time that may be measured.")] = "2h",
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Search for the revision that caused a regression.

    It is searched for a regression, or between two revisions of a line. Killed at any point, the
    same command goes on where it was.

    Example: nightshift bisect 3f2a91c04b7e

    Example: nightshift bisect --target postgres --line 18 --good 18.0 --bad 18.3 --step insert
    """
    context = MeasuringContext(config, quick)
    seconds = read_option("budget", budget, parse_duration)
    watcher = make_watcher(screen())
    if fingerprint:
        if line or good or bad or step or metric or workload or smallest:
            raise UserError(
                "a regression says by itself what is searched, and where; leave the options out"
            )
        plan = context.plan()
        found = locate(context, plan, _named(context, plan, fingerprint), seconds, watcher)
    elif line and good and bad:
        matters = context.config.detect.min_effect
        if smallest:
            matters = read_option("smallest", smallest, parse_percent)
        metrics = metric or list(context.config.detect.metrics)
        for name in metrics:
            if name not in METRICS:
                raise UserError(f"there is no metric {name!r}; {meant(name, METRICS)}")
        ladder = ladder_of(context.file, target, line)
        index, load = workload_for(context.file, ladder, workload, step or (), quick)
        cells = [
            make_cell(context.file, index, load, revision, ladder.options, context.machine)
            for revision in _revisions(context, ladder, good, bad)
        ]
        figures = [Figure(each.name, name) for each in load.steps for name in metrics]
        found = bisected(context, cells, figures, matters, seconds, watcher)
    else:
        raise UserError(
            "name a regression (`nightshift regressions` lists them), or a stretch with --line, "
            "--good and --bad"
        )
    if form is Format.JSON:
        print_json(as_json(found))
    else:
        show(found)
        if fingerprint and found.found and answer(found) is None:
            out.print(f"{NOT_SEEN} was found: the regression was not seen again")


def _named(context: MeasuringContext, plan: Plan, fingerprint: str) -> Regression:
    found = {one.fingerprint: one for one in load_detected(context.results, plan).regressions}
    matching = meant_by(fingerprint, found)
    if len(matching) == 1:
        return found[matching[0]]
    raise UserError(
        f"{'several regressions begin with' if matching else 'no regression is called'} "
        f"{fingerprint}; "
        f"{meant(fingerprint, found)}"
    )


def as_json(found: Bisected) -> dict[str, Any]:
    """Return what was found with the largest change, or else the ends, in front."""
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
    """Print each change with its rows, or how much may hide between the ends."""
    if not found.found:
        same = found.outcome == "no change"
        known = "do not differ" if same else "were neither shown to differ nor to be the same"
        out.print(f"{found.good} and {found.bad} {known}", markup=False)
        _show_rows(found.ends)
    for each in found.found:
        out.print(_said(each), style="bold", markup=False)
        _show_rows(each.rows)
    out.print(f"{counted(found.builds, 'build')}, {counted(found.runs, 'run')}")


def _said(found: Found) -> str:
    # Rounded down: nothing is certain.
    sure = f"{math.floor(1000 * found.probability) / 10:.1f} %"
    if not found.confirmed:
        return f"range    after {found.parent} and up to {found.culprit} ({sure})"
    others = f", or {', '.join(found.between)} (not measured)" if found.between else ""
    return f"culprit  {found.culprit}{others}; parent {found.parent} ({sure}, confirmed)"


def _show_rows(rows: tuple[Row, ...]) -> None:
    for row in rows:
        low, high = row.interval
        out.print(
            f"  {row.verdict:<9}  {row.step} {row.metric}  {row.effect:+.1%} "
            f"({low:+.1%} to {high:+.1%})",
            markup=False,
        )


def _revisions(
    context: MeasuringContext, ladder: Ladder, good: str, bad: str
) -> tuple[Revision, ...]:
    known = discover([ladder.offer], context.cache, None)[ladder.offer]
    try:
        return revisions_between(context.file, ladder, known, good, bad)
    except UserError:
        # One of them may be younger than the list.
        known = discover([ladder.offer], context.cache, None, refresh=True)[ladder.offer]
        return revisions_between(context.file, ladder, known, good, bad)
