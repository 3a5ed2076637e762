"""What every sink owes, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from pipeline.model import Frozen, Regression


class Link(Frozen):
    """Somewhere to look at: what it is called, and its address."""

    name: str
    address: str


class Notice(Frozen):
    """What people are told of a regression.

    ``title`` is one line of plain text, ``body`` markdown, ``summary`` one line for a chat;
    whatever in them was not written by nightshift is escaped. ``beside`` are other regressions
    of the same cause, which this notice tells, too. ``links`` lead to what can be seen of it.
    """

    regression: Regression
    title: str
    body: str
    summary: str
    beside: tuple[Regression, ...] = ()
    links: tuple[Link, ...] = ()

    @property
    def fingerprint(self) -> str:
        """By which it is known again."""
        return self.regression.fingerprint


class Cause(Frozen):
    """Regressions of one cause, worst first, mostly one.

    A sink that told one of them before they were known to have the same cause goes on with it.
    """

    regressions: tuple[Regression, ...]


Words = Callable[[Regression, Sequence[Regression]], Notice]
"""Makes the notice of a regression, and of others of the same cause."""


class DecisionKind(StrEnum):
    """What people can decide where they are told."""

    ACKNOWLEDGED = "acknowledged"
    WONT_FIX = "won't fix"
    REOPENED = "reopened"


class Decision(Frozen):
    """What somebody decided of a regression: ``by`` whom, and the address where it is seen."""

    fingerprint: str
    kind: DecisionKind
    by: str
    at: datetime
    note: str = ""


class Told(Frozen):
    """What a sink did about a regression.

    ``place`` is the file or the address where it is told. ``new`` says that it was not before,
    ``changed`` that anything was sent or written.
    """

    fingerprint: str
    place: str
    new: bool = False
    changed: bool = False


class Result(Frozen):
    """What a sink did in all; ``left`` says, a line each, what was left for the next time."""

    told: tuple[Told, ...] = ()
    left: tuple[str, ...] = ()


class Sink(Protocol):
    """A place where regressions are told.

    Telling the same again changes nothing, and what failed is told the next time: a sink raises
    UserError for mistakes of the configuration only, never because a service is out of order.
    """

    name: str

    def decisions(self) -> Sequence[Decision]:
        """Return what people decided there since it was asked last; the oldest first."""
        ...

    def tell(self, causes: Sequence[Cause], words: Words, *, suspected: bool) -> Result:
        """Tell what is new of regressions, and bring up to date what was told of them.

        With ``suspected`` also those that were not confirmed by measuring them again.
        """
        ...
