"""The verb pack."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.context import ConfigOption, Context, Format, FormatOption, out, print_json
from pipeline.config import DEFAULT_FILE
from pipeline.transfer.results import pack
from pipeline.transfer.state import pack_state
from pipeline.units import counted


@app.command("pack")
def pack_verb(
    folder: Annotated[Path, typer.Argument(help="Where to; made if it is not there.")],
    plan: Annotated[
        bool, typer.Option("--plan", help="What another machine needs to measure cells.")
    ] = False,
    state: Annotated[
        bool, typer.Option("--state", help="What it needs to pursue suspicions.")
    ] = False,
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Put what was measured here into a folder that travels.

    It has checksums, and `collect` takes it elsewhere.

    Example: nightshift pack outbox
    """
    context = Context(config)
    if state:
        count = pack_state(context.results, context.store, folder)
    elif plan:
        count = pack_state(context.results, None, folder)
    else:
        count = pack(context.results, folder)
    if form is Format.JSON:
        print_json({"folder": str(folder), "files": count})
    else:
        out.print(f"{counted(count, 'file')} in {folder}", markup=False)
