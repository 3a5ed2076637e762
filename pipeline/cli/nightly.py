"""The verb nightly: every stage in order."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, screen, warn
from pipeline.cli.detect import show as show_detected
from pipeline.cli.environment import show_recent
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.notify import notify
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.cli.publish import publish_stage
from pipeline.cli.pursue import pursue
from pipeline.cli.recorded import recorded
from pipeline.cli.report import write_report
from pipeline.cli.reserved import reserved
from pipeline.cli.site import make_site
from pipeline.cli.stages import check_tools, detect_stage, run_stage
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError
from pipeline.execute.discover import discover
from pipeline.execute.plan import Line, Plan
from pipeline.model import Cell
from pipeline.notify import find_sinks
from pipeline.report.layouts import make_grids
from pipeline.report.layouts.base import Wish
from pipeline.report.render.text import as_text
from pipeline.report.tables import measured_subjects
from pipeline.units import counted, show_duration

_COLUMNS = 12
"""Revisions of a line that a terminal has room for."""


@app.command("nightly")
def nightly_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    results: Annotated[
        Path | None,
        typer.Option(help="Keep results here instead; elsewhere everything is measured anew."),
    ] = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Run a whole night: every stage from discover to notify.

    What was measured before is not measured again, so a night that was stopped goes on where
    it was.

    Example: nightshift nightly --quick
    """
    began = time.monotonic()
    context = MeasuringContext(config, quick, results)
    with recorded(context) as night, reserved(context):
        check_tools(context)
        # A missing token is told now, and not when all is measured.
        sinks = find_sinks(context.config)
        with night.stage("discover"):
            found = discover(context.offers(), context.cache, context.results)
        with night.stage("plan"):
            plan = night.plan = context.plan(found)
        first_look = _FirstLook(context, plan) if form is Format.TEXT else None

        def on_bundle(cell: Cell, repetition: int, path: Path) -> None:
            night.measured(cell, repetition)
            with night.stage("ingest"):
                context.ingest([path])
            if first_look is not None:
                first_look.look(cell, repetition)

        watcher = night.timed(make_watcher(screen()))
        with night.stage("run"):
            runs = run_stage(context, plan, watcher, on_bundle)
        with night.stage("detect"):
            detected = detect_stage(context, plan)
            night.series = detected.series
        with night.stage("confirm"):
            detected = pursue(context, plan, detected, watcher, fresh=runs > 0)
        if form is Format.TEXT:
            for line in plan.lines:
                _show_line(context, line)
            show_detected(detected)
            show_recent(context.results)
        with night.stage("report"):
            written = write_report(context, plan)
        with night.stage("notify"):
            told = notify(context, sinks)
            told.warn()
        # With links to the report and to the issues.
        with night.stage("site"):
            site = _site(context, plan)
    # Once the night is written down, which is published, too.
    published = publish_stage(context, plan)
    if form is Format.JSON:
        print_json(
            {
                "runs": runs,
                "seconds": round(time.monotonic() - began, 3),
                "report": str(written[-1]),
                "site": str(site) if site else None,
                "issues": [each.place for each in told.kept],
                "new_issues": [each.place for each in told.kept if each.new],
                "published": vars(published[0]) if published else None,
                "detected": detected.model_dump(mode="json"),
            }
        )
        return
    for each_told in told.lines():
        out.print(f"issue   {each_told}", markup=False)
    out.print(f"report  {written[-1]}", markup=False)
    if site:
        out.print(f"site    {site}", markup=False)
    if published:
        out.print(published[1], markup=False)
    done = f"{counted(runs, 'run')} measured" if runs else "nothing was left to measure"
    out.print(f"{done} in {show_duration(time.monotonic() - began)}")


def _site(context: MeasuringContext, plan: Plan) -> Path | None:
    """Write the site. What stands in its way is told, and ends no night: all else is done."""
    try:
        return make_site(context, plan)
    except UserError as error:
        warn(str(error))
        return None


def _show_line(context: MeasuringContext, line: Line) -> None:
    subjects = measured_subjects(context.store, line)
    shown = [subject.newest(_COLUMNS) for subject in subjects]
    for grid in make_grids(shown, Wish(context.config.report)):
        out.print(as_text(grid))
    if shown != subjects:
        out.print(f"{line.name} has more revisions; `nightshift table --line {line.name}`")


class _FirstLook:
    """Shows a line's table as soon as each of its revisions was measured once.

    Those that it keeps were so before. A line of one revision has nothing to compare, so there is
    nothing to look at early.
    """

    def __init__(self, context: MeasuringContext, plan: Plan) -> None:
        self._context, self._plan = context, plan
        self._shown: set[str] = set()
        self._seen: set[str] = set()

    def look(self, cell: Cell, repetition: int) -> None:
        """Note a run that was taken into the store; show the lines that it completes."""
        if cell.control is not None:
            return
        self._seen.add(cell.revision.label)
        if repetition != 1:
            return
        for line in self._plan.lines:
            labels = {revision.label for revision in line.revisions}
            due = labels - line.kept
            if line.name not in self._shown and len(labels) > 1 and due <= self._seen:
                self._shown.add(line.name)
                out.print("first repetition, two decimals are not to be trusted yet:")
                _show_line(self._context, line)
