"""The verb backup."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, screen
from pipeline.cli.context import Context
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.cli.places import hub_sources, place_of, transfers
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError
from pipeline.journal import now
from pipeline.transfer.backup import backup
from pipeline.units import counted


@app.command("backup")
def backup_verb(
    place: Annotated[
        str,
        typer.Argument(
            help="A folder, ssh://user@host/path or s3://bucket/prefix. By default [backup] to."
        ),
    ] = "",
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Back up everything that cannot be derived again.

    Only what is new is sent, and the newest generations are kept. A night may run meanwhile.

    Example: nightshift backup s3://backups/nightshift
    """
    context = Context(config)
    address = place or context.config.backup.to
    if not address:
        raise UserError(f"{config} names no place to back up to; give one, or set backup.to")
    with place_of(context.config, address) as there:
        done = backup(
            there,
            hub_sources(context.config, config),
            context.config.backup.keep,
            now(),
            transfers(screen()),
        )
    if form is Format.JSON:
        print_json({"place": address, **vars(done)})
        return
    out.print(
        f"{done.name} in {address}: {counted(done.files, 'file')}, {done.sent} new "
        f"({done.bytes / 1e6:.1f} MB), {counted(done.removed, 'older generation')} removed",
        markup=False,
    )
