"""The verb `pack`: pack the results of this machine into a folder for transfer."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, screen
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.cli.transfers import transfers
from pipeline.config import DEFAULT_FILE
from pipeline.text.units import plural
from pipeline.use_cases.context import Context
from pipeline.use_cases.pack import Packed, pack_results


@app.command("pack")
def pack_verb(
    folder: Annotated[
        str,
        typer.Argument(
            help=(
                "Destination, created if missing: a local folder, ssh://user@host/path or "
                "s3://bucket/prefix."
            )
        ),
    ],
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Pack the plan: what another machine needs to measure cells."),
    ] = False,
    state: Annotated[
        bool,
        typer.Option(
            "--state",
            help="Pack the state: what another machine needs to confirm and bisect regressions.",
        ),
    ] = False,
    batch: Annotated[
        str,
        typer.Option(help="Id of the batch that was measured, as `plan` or `pursue` prints it."),
    ] = "",
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Pack the results of this machine into a folder for transfer.

    The folder has checksums; `collect` on another machine reads it. To another machine or a bucket,
    only new files are sent; each sending machine needs a separate folder there.

    Example: nightshift pack s3://bench/outbox/ax162-1
    """
    what = Packed.STATE if state else Packed.PLAN if plan else Packed.RESULTS
    packed = pack_results(Context(config), folder, what, transfers(screen()), batch)
    if isinstance(packed, int):
        if form is Format.JSON:
            print_json({"folder": folder, "files": packed})
        else:
            out.print(f"{plural(packed, 'file')} in {folder}", markup=False)
    elif form is Format.JSON:
        print_json({"folder": folder, "files": packed.sent, "known": packed.known})
    else:
        out.print(
            f"{plural(packed.sent, 'file')} sent to {folder}, {packed.known} there already",
            markup=False,
        )
