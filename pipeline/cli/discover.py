"""The verb `discover`: list the revisions that the sources of the targets offer."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.text.units import plural
from pipeline.use_cases.discover import discover_stage
from pipeline.use_cases.measuring import MeasuringContext

NEWEST = 10
"""Number of listed commits of a branch, which may have thousands."""


@app.command("discover")
def discover_verb(
    target: Annotated[
        str,
        typer.Argument(help="Only this DBMS, from all its sources.", show_default=False),
    ] = "",
    source: Annotated[
        str,
        typer.Option(help="Only this source of the DBMS; `nightshift targets` lists the sources."),
    ] = "",
    config: ConfigOption = DEFAULT_FILE,
    refresh: Annotated[
        bool,
        typer.Option(
            "--refresh", help="Query the sources even if they were queried within the last hour."
        ),
    ] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """List the revisions that the sources of the targets offer.

    Example: nightshift discover mariadb --source tarball
    """
    found = discover_stage(MeasuringContext(config), target, source, refresh)
    if form is Format.JSON:
        print_json(
            [
                {
                    "target": offer.target,
                    "source": offer.supply.name,
                    "coordinates": offer.supply.coordinates,
                    "revisions": [revision.version for revision in revisions],
                }
                for offer, revisions in found.items()
            ]
        )
        return
    for offer, revisions in found.items():
        kind = "commit" if offer.supply.commits else "release"
        out.print(
            f"{offer.target} from {offer.supply.name}: {plural(len(revisions), kind)}",
            style="bold",
        )
        if offer.supply.commits:
            for revision in revisions[-NEWEST:]:
                out.print(f"  {revision.version}  {revision.at:%Y-%m-%d %H:%M}", markup=False)
            continue
        majors = dict.fromkeys(revision.major for revision in revisions)
        for major in majors:
            versions = [r.version for r in revisions if r.major == major]
            out.print(f"  {major:<5} {' '.join(versions)}", markup=False)
