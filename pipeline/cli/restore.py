"""The verb `restore`: restore a backup into empty folders."""

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
from pipeline.use_cases.backup import restore_backup


@app.command("restore")
def restore_verb(
    place: Annotated[str, typer.Argument(help="Place that `backup` wrote to.")],
    at: Annotated[
        str,
        typer.Option(
            "--at",
            help="Name of the backup or its beginning, for example 20260301. Default: the newest.",
        ),
    ] = "",
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Restore a backup into empty folders.

    The newest backup is restored, or the newest whose name begins with the text of --at. An
    existing configuration file is kept. Afterwards `nightshift rebuild` derives the store.

    Example: nightshift restore s3://backups/nightshift
    """
    restored = restore_backup(place, at, config, transfers(screen()))
    if form is Format.JSON:
        print_json({"place": place, "name": restored.name, "files": restored.files})
    else:
        count = plural(restored.files, "file")
        out.print(
            f"backup {restored.name}: {count} restored to {restored.results}; now run `nightshift "
            "rebuild`",
            markup=False,
        )
