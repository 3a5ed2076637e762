"""Record people's decisions: about regressions, and about which series are muted."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from datetime import date, datetime

from pipeline.model import Pattern, RegressionState, digest
from pipeline.regressions.reconcile import matching_fingerprints
from pipeline.storage.journal import Event, EventKind, Journal, mutes, now
from pipeline.text.errors import UserError
from pipeline.use_cases.context import Context


def decide(
    context: Context,
    fingerprint: str,
    kind: EventKind,
    note: str,
    until: datetime | None = None,
) -> tuple[str, RegressionState]:
    """Record a decision about a regression; return its fingerprint and new state.

    Raises UserError for an unknown or ambiguous fingerprint, for a decision that the state does not
    allow, and for an ``until`` in the past.
    """
    known = context.regressions.known(now())
    matching = matching_fingerprints(fingerprint, known)
    if len(matching) != 1:
        raise UserError(
            f"{'several regressions begin with' if matching else 'there is no regression'} "
            f"{fingerprint!r}; `nightshift regressions` lists them"
        )
    (name,) = matching
    event = Event(
        at=now(),
        event=kind,
        fingerprint=name,
        by=getpass.getuser(),
        note=note,
        expires=_last_day(until),
    )
    known[name].add(event)
    context.regressions.record([event], event.at)
    return name, known[name].state


def mute(context: Context, pattern: Pattern, note: str, until: datetime | None) -> None:
    """Exclude series that match a pattern from detection until a day, or indefinitely."""
    event = Event(
        at=now(),
        event=EventKind.MUTED,
        fingerprint=digest(pattern.model_dump())[:12],
        by=getpass.getuser(),
        note=note,
        expires=_last_day(until),
        pattern=pattern,
    )
    context.regressions.record([event], event.at)


def list_mutes(context: Context) -> Mapping[str, Event]:
    """Return the mutes that are in force now, by fingerprint."""
    return mutes(Journal(context.results).read(), now().date())


def unmute(context: Context, fingerprint: str, note: str) -> str:
    """End a mute; return its fingerprint. Raises UserError unless exactly one matches."""
    held = [name for name in list_mutes(context) if name.startswith(fingerprint)]
    if len(held) != 1:
        raise UserError(
            f"{'several mutes begin with' if held else 'there is no mute'} {fingerprint!r}; "
            "`nightshift mute` lists them"
        )
    event = Event(
        at=now(),
        event=EventKind.UNMUTED,
        fingerprint=held[0],
        by=getpass.getuser(),
        note=note,
    )
    context.regressions.record([event], event.at)
    return held[0]


def _last_day(until: datetime | None) -> date | None:
    """Return the last day of a decision. Raises UserError if it is in the past."""
    if until is not None and until.date() < now().date():
        raise UserError(
            f"{until.date()} is in the past; give a future day, for example --until 2031-12-31"
        )
    return until.date() if until is not None else None
