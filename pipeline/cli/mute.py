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
        str, typer.Option(help="Shell pattern: the targets of the muted series.")
    ] = "*",
    line: Annotated[str, typer.Option(help="Shell pattern: the lines of the muted series.")] = "*",
    workload: Annotated[
        str, typer.Option(help="Shell pattern: the workloads of the muted series.")
    ] = "*",
    step: Annotated[str, typer.Option(help="Shell pattern: the steps of the muted series.")] = "*",
    metric: Annotated[
        str, typer.Option(help="Shell pattern: the metrics of the muted series.")
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
