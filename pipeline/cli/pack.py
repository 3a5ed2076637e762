"""The verb pack."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, screen
from pipeline.cli.context import Context
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.cli.places import place_of, transfers
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError
from pipeline.transfer.places import is_remote
from pipeline.transfer.push import push
from pipeline.transfer.results import pack
from pipeline.transfer.state import pack_state
from pipeline.units import counted


@app.command("pack")
def pack_verb(
    folder: Annotated[
        str,
        typer.Argument(
            help="Where to; made if it is not there: a folder here, ssh://user@host/path or "
            "s3://bucket/prefix."
        ),
    ],
    plan: Annotated[
        bool, typer.Option("--plan", help="What another machine needs to measure cells.")
    ] = False,
    state: Annotated[
        bool, typer.Option("--state", help="What it needs to pursue suspicions.")
    ] = False,
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Pack the results of this machine into a folder for transfer.

    It has checksums, and `collect` takes it elsewhere. To another machine or a bucket only what is
    new is sent; each machine needs a folder of its own there.

    Example: nightshift pack s3://bench/outbox/ax162-1
    """
    context = Context(config)
    if is_remote(folder):
        if plan or state:
            raise UserError("a plan or a state goes into a folder of this machine: give one")
        with place_of(context.config, folder) as place:
            pushed = push(place, context.results, transfers(screen()))
        if form is Format.JSON:
            print_json({"folder": folder, "files": pushed.sent, "known": pushed.known})
        else:
            out.print(
                f"{counted(pushed.sent, 'file')} sent to {folder}, {pushed.known} there already",
                markup=False,
            )
        return
    if state:
        count = pack_state(context.results, context.store, Path(folder))
    elif plan:
        count = pack_state(context.results, None, Path(folder))
    else:
        count = pack(context.results, Path(folder))
    if form is Format.JSON:
        print_json({"folder": folder, "files": count})
    else:
        out.print(f"{counted(count, 'file')} in {folder}", markup=False)
