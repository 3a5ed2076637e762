"""What the verbs share by which people decide: who, of which regression, and what follows."""

from __future__ import annotations

import getpass
from datetime import date, datetime
from typing import Annotated

import typer

from pipeline.analyse.identity import meant_by
from pipeline.analyse.refresh import refresh
from pipeline.analyse.states import histories
from pipeline.cli.console import out
from pipeline.cli.context import Context
from pipeline.cli.options import Format
from pipeline.cli.output import print_json
from pipeline.errors import UserError
from pipeline.journal import Event, EventKind, Journal, now

FingerprintArgument = Annotated[
    str, typer.Argument(help="Its fingerprint, or the beginning of it.", show_default=False)
]
NoteOption = Annotated[str, typer.Option(help="Why, for those who read it later.")]
UntilOption = Annotated[
    datetime | None,
    typer.Option(help="Until the end of this day.", formats=["%Y-%m-%d"], show_default=False),
]


def person() -> str:
    """Return who is deciding."""
    return getpass.getuser()


def decide(
    context: Context,
    fingerprint: str,
    kind: EventKind,
    form: Format,
    note: str,
    until: datetime | None = None,
) -> None:
    """Write a decision into the journal, and print what the regression is now.

    Raises UserError for a fingerprint that is not known or means several, for a decision that the
    state does not allow, and for an end that is past.
    """
    journal = Journal(context.results)
    known = histories(journal.read())
    matching = meant_by(fingerprint, known)
    if len(matching) != 1:
        raise UserError(
            f"{'several regressions begin with' if matching else 'no regression is known as'} "
            f"{fingerprint!r}; `nightshift regressions` lists them"
        )
    (name,) = matching
    event = Event(
        at=now(),
        event=kind,
        fingerprint=name,
        by=person(),
        note=note,
        expires=last_day(until),
    )
    known[name].add(event)
    journal.append([event])
    refresh(context.results, context.store, event.at)
    state = known[name].state.value
    if form is Format.JSON:
        print_json({"fingerprint": name, "state": state})
    else:
        out.print(f"{name} is {state}", markup=False)


def last_day(until: datetime | None) -> date | None:
    """Return the last day of a decision. Raises UserError for one that is past."""
    if until is not None and until.date() < now().date():
        raise UserError(f"{until.date()} is past; give a day to come, as --until 2031-12-31")
    return until.date() if until is not None else None
