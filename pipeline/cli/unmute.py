"""The verb unmute."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.context import Context
from pipeline.cli.decisions import NoteOption, person
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError
from pipeline.journal import Event, EventKind, Journal, mutes, now


@app.command("unmute")
def unmute_verb(
    fingerprint: Annotated[
        str, typer.Argument(help="That of the mute, as `nightshift mute` lists it.")
    ],
    config: ConfigOption = DEFAULT_FILE,
    note: NoteOption = "",
    form: FormatOption = Format.TEXT,
) -> None:
    """End a mute.

    Example: nightshift unmute 3f2a91c04b7d
    """
    journal = Journal(Context(config).results)
    held = [name for name in mutes(journal.read(), now().date()) if name.startswith(fingerprint)]
    if len(held) != 1:
        raise UserError(
            f"{'several mutes begin with' if held else 'nothing is muted as'} {fingerprint!r}; "
            "`nightshift mute` lists what is"
        )
    kind = EventKind.UNMUTED
    journal.append([Event(at=now(), event=kind, fingerprint=held[0], by=person(), note=note)])
    if form is Format.JSON:
        print_json({"fingerprint": held[0]})
    else:
        out.print(f"{held[0]} is no longer muted", markup=False)
