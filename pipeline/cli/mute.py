"""The verb `mute`: exclude series from detection, or list the mutes."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.decision_options import NoteOption, UntilOption
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.model import Pattern
from pipeline.storage.journal import Event
from pipeline.use_cases.context import Context
from pipeline.use_cases.decisions import list_mutes, mute

_ANY = Pattern()


@app.command("mute")
def mute_verb(
    config: ConfigOption = DEFAULT_FILE,
    target: Annotated[
        str, typer.Option(help="Mute only series of DBMSs that match this shell pattern.")
    ] = "*",
    line: Annotated[
        str, typer.Option(help="Mute only series on lines that match this shell pattern.")
    ] = "*",
    workload: Annotated[
        str, typer.Option(help="Mute only series of workloads that match this shell pattern.")
    ] = "*",
    step: Annotated[
        str,
        typer.Option(
            help="Mute only series of steps that match this shell pattern, for example 'scan*'."
        ),
    ] = "*",
    metric: Annotated[
        str, typer.Option(help="Mute only series of metrics that match this shell pattern.")
    ] = "*",
    note: NoteOption = "",
    until: UntilOption = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Exclude series from detection, or list the mutes.

    Detection skips the matching series until a day. Without a pattern, the command lists all mutes.

    Example: nightshift mute --step "scan*" --metric cpu_us/o --note "noisy" --until 2031-12-31
    """
    context = Context(config)
    pattern = Pattern(target=target, line=line, workload=workload, step=step, metric=metric)
    if pattern != _ANY:
        mute(context, pattern, note, until)
    held = list_mutes(context)
    if form is Format.JSON:
        print_json(
            [
                {
                    "fingerprint": name,
                    **(event.pattern or _ANY).model_dump(),
                    "note": event.note,
                    "by": event.by,
                    "expires": event.expires,
                }
                for name, event in held.items()
            ]
        )
        return
    out.print("muted:" if held else "nothing is muted")
    for name, event in held.items():
        out.print(_line(name, event), markup=False)


def _line(name: str, event: Event) -> str:
    named = [f"{of} {text}" for of, text in event.pattern or _ANY if text != "*"]
    until = f" until {event.expires}" if event.expires else ""
    note = f": {event.note}" if event.note else ""
    return f"  {name}  {', '.join(named)}{until}{note}"
