"""The verb mute."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.context import Context
from pipeline.cli.decisions import NoteOption, UntilOption, last_day, person
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.journal import Event, EventKind, Journal, mutes, now
from pipeline.model import Pattern, digest

_ANY = Pattern()


@app.command("mute")
def mute_verb(
    config: ConfigOption = DEFAULT_FILE,
    target: Annotated[str, typer.Option(help="Of which targets: a shell pattern.")] = "*",
    line: Annotated[str, typer.Option(help="Of which lines.")] = "*",
    workload: Annotated[str, typer.Option(help="Of which workloads.")] = "*",
    step: Annotated[str, typer.Option(help="Of which steps.")] = "*",
    metric: Annotated[str, typer.Option(help="Of which metrics.")] = "*",
    note: NoteOption = "",
    until: UntilOption = None,
    form: FormatOption = Format.TEXT,
) -> None:
    """Exclude series from detection, or list the mutes.

    Nothing is searched for in them until a day. Without a pattern, what is muted is listed.

    Example: nightshift mute --step "scan*" --metric cpu_us/o --note "noisy" --until 2031-12-31
    """
    context = Context(config)
    journal = Journal(context.results)
    pattern = Pattern(target=target, line=line, workload=workload, step=step, metric=metric)
    if pattern != _ANY:
        event = Event(
            at=now(),
            event=EventKind.MUTED,
            fingerprint=digest(pattern.model_dump())[:12],
            by=person(),
            note=note,
            expires=last_day(until),
            pattern=pattern,
        )
        journal.append([event])
    held = mutes(journal.read(), now().date())
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
