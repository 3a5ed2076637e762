"""The verb `unmute`: end a mute."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.decision_options import NoteOption
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.use_cases.context import Context
from pipeline.use_cases.decisions import unmute


@app.command("unmute")
def unmute_verb(
    fingerprint: Annotated[
        str, typer.Argument(help="Fingerprint of the mute; `nightshift mute` lists them.")
    ],
    config: ConfigOption = DEFAULT_FILE,
    note: NoteOption = "",
    form: FormatOption = Format.TEXT,
) -> None:
    """End a mute.

    Example: nightshift unmute 3f2a91c04b7d
    """
    name = unmute(Context(config), fingerprint, note)
    if form is Format.JSON:
        print_json({"fingerprint": name})
    else:
        out.print(f"{name} is no longer muted", markup=False)
