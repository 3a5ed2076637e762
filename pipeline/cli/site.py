"""The verb `site`: write the trends of all results as static web pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.options import ConfigOption, Format, FormatOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.use_cases.measuring import MeasuringContext
from pipeline.use_cases.site import RUNS_FOR_SQL, make_site


@app.command("site")
def site_verb(
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for the site. Default: the folder site in the results folder."),
    ] = None,
    sql: Annotated[
        bool,
        typer.Option(
            "--sql",
            help=f"Write the page SQL for any number of runs. Default: for at most {RUNS_FOR_SQL}.",
        ),
    ] = False,
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Write the trends of all results as static web pages.

    Example: nightshift site --output results/site
    """
    context = MeasuringContext(config, quick)
    page = make_site(context, context.plan(), output, sql=sql)
    if form is Format.JSON:
        print_json({"site": str(page)})
        return
    out.print(str(page), markup=False)
