"""The site stage: write the trends of all results as static pages."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from pathlib import Path

from pipeline.environment.persistence import load_environment
from pipeline.explain.explanation import Explanation, last_explanation
from pipeline.measure.plan import Plan
from pipeline.model import Regression
from pipeline.notify.directory import files
from pipeline.regressions.detected import Detected
from pipeline.regressions.states import KnownRegression
from pipeline.site import write_site
from pipeline.site.night import NightReport
from pipeline.storage.journal import now
from pipeline.storage.runs import number_of_runs
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.report import read_report
from pipeline.use_cases.sql import rows_of
from pipeline.use_cases.status import grids_of_status, read_status
from pipeline.use_cases.table import all_chosen_tables

RUNS_FOR_SQL = 2000
"""Maximum number of runs for which each site has the page SQL. Its database is written again when
results change: a second for 2000 runs of a default night's steps, ten for 15,000 of 40 steps."""


def make_site(
    context: MeasuringContext,
    plan: Plan,
    output: Path | None = None,
    night: NightReport | None = None,
    *,
    sql: bool = False,
) -> Path:
    """Write the site of a plan, with links to issues; return its first page.

    ``night`` is the content of the report, if it has already been read from the store. With an
    ``output`` folder, nothing is written to the results folder. The page SQL is written for at most
    :data:`RUNS_FOR_SQL` runs, or with ``sql``.
    """
    at = now()
    detected = context.regressions.detection_of(plan, at)
    known = context.regressions.known(at)
    environment = load_environment(context.results)
    status = read_status(context, plan)
    return write_site(
        output or context.results / "site",
        plan,
        detected,
        list(known.values()),
        night or read_report(context, plan, detected, save=output is None),
        at,
        issues=files(context.config.issues_folder),
        events=environment.events if environment is not None else (),
        explanations=_explanations(context, detected, known),
        tables=list(chain.from_iterable(all_chosen_tables(context).values())),
        status=grids_of_status(context, status, status.rows),
        rows=rows_of(known.values(), context.results),
        results=context.results,
        sql=sql or number_of_runs(context.store) <= RUNS_FOR_SQL,
    )


def _explanations(
    context: MeasuringContext, detected: Detected, known: Mapping[str, KnownRegression]
) -> list[tuple[Regression, Explanation]]:
    """Return the explanations of known regressions that match their present evidence."""
    present = {name: row.regression for name, row in known.items()}
    present |= {one.fingerprint: one for one in detected.regressions}
    return [
        (regression, explanation)
        for regression in present.values()
        if (explanation := last_explanation(regression, context.results)) is not None
    ]
