"""The verb `backup`: back up everything that cannot be derived again."""

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
from pipeline.use_cases.backup import back_up
from pipeline.use_cases.context import Context


@app.command("backup")
def backup_verb(
    place: Annotated[
        str,
        typer.Argument(
            help="A folder, ssh://user@host/path or s3://bucket/prefix. Default: [backup] to."
        ),
    ] = "",
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Back up everything that cannot be derived again.

    Only new files are sent. [backup] keep sets the number of backups to keep; older ones are
    deleted. The backup may run during a night.

    Example: nightshift backup s3://backups/nightshift
    """
    address, done = back_up(Context(config), place, transfers(screen()))
    if form is Format.JSON:
        print_json({"place": address, **vars(done)})
        return
    out.print(
        f"backup {done.name} in {address}: {plural(done.files, 'file')}, {done.sent} new "
        f"({done.bytes / 1000000.0:.1f} MB), {plural(done.removed, 'older backup')} removed",
        markup=False,
    )
