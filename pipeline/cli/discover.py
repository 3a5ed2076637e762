"""The verb discover."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.context import (
    ConfigOption,
    Context,
    Format,
    FormatOption,
    out,
    print_json,
)
from pipeline.config import DEFAULT_FILE
from pipeline.execute.discover import discover


@app.command("discover")
def discover_verb(
    config: ConfigOption = DEFAULT_FILE,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Ask even if it was asked within the hour.")
    ] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Ask which releases of each target there are.

    Example: nightshift discover --format json
    """
    context = Context(config)
    found = discover(context.targets(), context.cache, context.results, refresh=refresh)
    if form is Format.JSON:
        print_json(
            {name: [revision.version for revision in found_of] for name, found_of in found.items()}
        )
        return
    for name, revisions in found.items():
        out.print(f"{name}: {len(revisions)} releases", style="bold")
        majors = dict.fromkeys(revision.major for revision in revisions)
        for major in majors:
            versions = [r.version for r in revisions if r.major == major]
            out.print(f"  {major:<5} {' '.join(versions)}", markup=False)
