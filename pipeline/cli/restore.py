"""The verb restore."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, screen
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.cli.places import hub_sources, place_of, transfers
from pipeline.config import DEFAULT_FILE, Config, load_config
from pipeline.errors import UserError
from pipeline.transfer.generation import generations
from pipeline.transfer.restore import restore, restore_config
from pipeline.units import counted


@app.command("restore")
def restore_verb(
    place: Annotated[str, typer.Argument(help="Where `backup` put it.")],
    at: Annotated[
        str, typer.Option("--at", help="The generation, or how its name begins, as 20260301.")
    ] = "",
    config: ConfigOption = DEFAULT_FILE,
    form: FormatOption = Format.TEXT,
) -> None:
    """Restore a backup into empty folders.

    The newest generation, or the newest whose name begins so. A configuration that is there stays.
    Then `nightshift rebuild` derives the store again.

    Example: nightshift restore s3://backups/nightshift
    """
    settings = load_config(config).config if config.exists() else Config()
    with place_of(settings, place) as there:
        names = generations(there)
        name = next((each for each in reversed(names) if each.startswith(at)), None)
        if name is None:
            known = f"; there are {names[0]} to {names[-1]}" if names and at else ""
            raise UserError(f"{place} has no backup{' of ' + at if at else ''}{known}")
        restore_config(there, name, config)
        sources = hub_sources(load_config(config).config, config)
        generation = restore(there, name, sources, transfers(screen()))
    if form is Format.JSON:
        print_json({"place": place, "name": name, "files": len(generation.files)})
    else:
        count = counted(len(generation.files), "file")
        out.print(f"{name}: {count} in {sources.results}; run nightshift rebuild", markup=False)
