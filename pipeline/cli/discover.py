"""The verb discover."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, warn
from pipeline.cli.measuring import MeasuringContext
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError
from pipeline.execute.discover import Discovered, Offer, discover
from pipeline.model import Revision
from pipeline.targets import find_target
from pipeline.units import counted

NEWEST = 10
"""Commits of a branch that are listed; a repository has thousands."""


@app.command("discover")
def discover_verb(
    target: Annotated[
        str,
        typer.Argument(help="A DBMS, to ask all its sources.", show_default=False),
    ] = "",
    config: ConfigOption = DEFAULT_FILE,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Ask even if it was asked within the hour.")
    ] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """List the revisions that the sources of the targets offer.

    Example: nightshift discover mariadb
    """
    context = MeasuringContext(config)
    if target:
        found = _everywhere(context, target, refresh)
    else:
        found = discover(context.offers(), context.cache, context.results, refresh=refresh)
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
            f"{offer.target} from {offer.supply.name}: {counted(len(revisions), kind)}",
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


def _everywhere(context: MeasuringContext, name: str, refresh: bool) -> Discovered:
    """Ask every source of a target; one that is out of reach is told and the others go on."""
    try:
        target = find_target(name)
    except KeyError as error:
        raise UserError(error.args[0]) from error
    found: dict[Offer, tuple[Revision, ...]] = {}
    for supply in target.supplies:
        offer = Offer(name, supply)
        try:
            found |= discover([offer], context.cache, None, refresh=refresh)
        except UserError as error:
            warn(f"{name} from {supply.name}: {error}")
    if not found:
        raise UserError(f"no source of {name} can be reached; check the network and run again")
    return found
