"""The verb notify."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path

from pipeline.analyse.causes import by_cause
from pipeline.analyse.detection import load_detected
from pipeline.analyse.regressions import clearest, size, worst
from pipeline.analyse.subjects import subject_text
from pipeline.cli.app import app
from pipeline.cli.context import (
    ConfigOption,
    Context,
    Format,
    FormatOption,
    QuickOption,
    out,
    print_json,
)
from pipeline.cli.explain import why
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError
from pipeline.execute.plan import Plan
from pipeline.model import Regression, RegressionKind
from pipeline.notify.directory import write_issues
from pipeline.store.regressions import stored_regressions

FIGURES = 3
"""Figures, those that changed most, in whose steps a regression is measured again."""


@app.command("notify")
def notify_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Write a markdown file for each confirmed regression.

    Example: nightshift notify
    """
    context = Context(config, quick)
    load_detected(context.results, context.plan())
    new, written = notify(context)
    if form is Format.JSON:
        print_json({"new": [str(path) for path in new], "all": [str(path) for path in written]})
        return
    if not written:
        out.print("no regression has to be filed")
    for path in written:
        out.print(f"{path}{' (new)' if path in new else ''}", markup=False)


def notify(context: Context) -> tuple[list[Path], list[Path]]:
    """Tell the configured sink of every known regression; return (what is new, everything).

    Also of those that the last detection did not find any more: people may have decided something.
    """
    plan = context.plan()
    known = [row.regression for row in stored_regressions(context.store)]
    return write_issues(
        by_cause(sorted(known, key=lambda regression: -size(worst(regression)))),
        context.config.issues_folder,
        lambda regression: reproduce(context, plan, regression),
        lambda regression: why(context, plan, regression),
        suspected=context.config.notify.suspected,
    )


def reproduce(context: Context, plan: Plan, regression: Regression) -> str:
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


def _comparison(context: Context, plan: Plan, regression: Regression) -> list[str]:
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
