"""Write the command that measures a regression again."""

from __future__ import annotations

import shlex
from contextlib import suppress

from pipeline.experiments.revision_spec import subject_text
from pipeline.measure.plan import Plan
from pipeline.model import Regression
from pipeline.regressions.grouping import clearest
from pipeline.text.errors import UserError
from pipeline.use_cases.measuring import MeasuringContext

FIGURES = 3
"""The command measures the steps of this many figures: those that changed most."""


def reproduce(context: MeasuringContext, plan: Plan, regression: Regression) -> str:
    """Return the shell command that measures a regression again, without any stored results.

    For a change of level, the command compares the culprit with its parent, or the first bad
    revision with the last good one, in the steps that changed most; for a creep, the newest
    revision with the anchor. For any other change it runs a whole night.
    """
    command = ["nightshift", "nightly", "--results", "again"]
    command += ["--quick"] if context.quick else []
    if regression.kind.of_levels:
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
    # In the file, the workload of a quick night has no separate name.
    chosen = [] if context.quick else ["--workload", series.workload]
    return ["nightshift", "compare", *sides, *asked, *chosen]
