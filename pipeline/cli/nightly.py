"""The verb nightly: every stage in order."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import fail_without_figure, out, screen
from pipeline.cli.detection import show_detected
from pipeline.cli.machine_events import show_recent
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.cli.progress import make_watcher
from pipeline.cli.publication import published_line
from pipeline.config import DEFAULT_FILE
from pipeline.measure.plan import Line, Plan
from pipeline.regressions.detected import Detected
from pipeline.report.render.text import as_text
from pipeline.text.units import plural, show_duration
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.nightly import NightResult, run_night
from pipeline.use_cases.table import newest_tables

_COLUMNS = 12
"""Number of revisions of a line that fit on a terminal."""


@app.command("nightly")
def nightly_verb(
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    results: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Results folder to use instead of paths.results; a new folder starts without any "
                "results."
            )
        ),
    ] = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Run a whole night: every stage from discover to notify.

    Runs that exist already are not repeated, so an interrupted night continues with the same
    command. A night that had something to measure but measured no run exits with 3.

    Example: nightshift nightly --quick
    """
    context = MeasuringContext(config, quick, results)
    observer = _Tables(context) if form is Format.TEXT else _NoTables()
    night = run_night(context, make_watcher(screen()), observer)
    if form is Format.JSON:
        print_json(_as_json(night))
    else:
        _show(night)
    if night.fruitless:
        fail_without_figure()


def _as_json(night: NightResult) -> dict[str, object]:
    issues = night.notified.kept
    return {
        "runs": night.runs,
        "harness_errors": night.harness_errors,
        "seconds": round(night.seconds, 3),
        "report": str(night.report),
        "site": str(night.site) if night.site else None,
        "issues": [each.place for each in issues],
        "new_issues": [each.place for each in issues if each.new],
        "published": vars(night.published.synced) if night.published else None,
        "detected": night.detected.model_dump(mode="json"),
    }


def _show(night: NightResult) -> None:
    for line in night.notified.lines():
        out.print(f"issue   {line}", markup=False)
    out.print(f"report  {night.report}", markup=False)
    if night.site:
        out.print(f"site    {night.site}", markup=False)
    if night.published:
        out.print(published_line(night.published), markup=False)
    left = len(night.harness_errors)
    lacks = f", {plural(left, 'run')} not measured (harness errors)" if left else ""
    some = night.runs or left
    done = f"{plural(night.runs, 'run')} measured" if some else "nothing left to measure; ended"
    out.print(f"{done}{lacks} in {show_duration(night.seconds)}")


class _NoTables:
    """Prints no tables while a night runs."""

    def first_look(self, line: Line) -> None:
        pass

    def concluded(self, plan: Plan, detected: Detected) -> None:
        pass


class _Tables:
    """Prints tables and regressions while a night runs."""

    def __init__(self, context: MeasuringContext) -> None:
        self._context = context

    def first_look(self, line: Line) -> None:
        """Print the table of a line once each of its revisions has one run."""
        out.print(
            "results after one run of each cell; further runs may still change the second decimal:"
        )
        self._show_line(line)

    def concluded(self, plan: Plan, detected: Detected) -> None:
        """Print the night's tables, its regressions and the changes of machines."""
        for line in plan.lines:
            self._show_line(line)
        show_detected(detected)
        show_recent(self._context.results)

    def _show_line(self, line: Line) -> None:
        tables = newest_tables(self._context, line, _COLUMNS)
        for grid in tables.grids:
            out.print(as_text(grid))
        if not tables.whole:
            out.print(
                f"{line.name} has more revisions; `nightshift table --line {line.name}` shows more"
            )
