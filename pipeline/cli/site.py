"""The verb site."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.analyse.detected import load_detected
from pipeline.analyse.environment.kept import kept_environment
from pipeline.analyse.refresh import refresh
from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.execute.plan import Plan
from pipeline.journal import now
from pipeline.notify.directory import files
from pipeline.report.site import write_site
from pipeline.store.regressions import stored_regressions


@app.command("site")
def site_verb(
    output: Annotated[
        Path | None, typer.Option(help="The folder of the site; by default site in the results.")
    ] = None,
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Write the trends as static pages.

    Example: nightshift site --output results/site
    """
    context = MeasuringContext(config, quick)
    page = make_site(context, context.plan(), output)
    if form is Format.JSON:
        print_json({"site": str(page)})
        return
    out.print(str(page), markup=False)


def make_site(context: MeasuringContext, plan: Plan, output: Path | None = None) -> Path:
    """Write the site of a plan, with links to its report page and issues; return its first page."""
    at = now()
    refresh(context.results, context.store, at)
    known = stored_regressions(context.store)
    detected = load_detected(context.results, plan)
    environment = kept_environment(context.results)
    report = context.results / "report.html"
    return write_site(
        output or context.results / "site",
        context.store,
        plan,
        detected,
        known,
        context.config.report,
        at,
        report=report if report.exists() else None,
        issues=files(context.config.issues_folder),
        events=environment.events if environment is not None else (),
    )
