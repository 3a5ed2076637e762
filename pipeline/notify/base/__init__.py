"""The interface of sinks, which report regressions to people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from pipeline.model import Frozen, Regression


class Link(Frozen):
    """A link in a report: its text and its address."""

    name: str
    address: str


class Notice(Frozen):
    """The report of a regression for people: title, summary, text and links.

    ``title`` is one line of plain text, ``body`` is markdown, ``summary`` is one line for a chat;
    untrusted text in them is escaped. ``beside`` are other regressions with the same cause, which
    this notice reports too. ``links`` lead to pages about the regression.
    """

    regression: Regression
    title: str
    body: str
    summary: str
    beside: tuple[Regression, ...] = ()
    links: tuple[Link, ...] = ()

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the regression that the report is about."""
        return self.regression.fingerprint


class Cause(Frozen):
    """Regressions with one cause, the worst first; usually there is only one.

    A sink that reported one of them before the common cause was known keeps that report up to date.
    ``unproven`` has the fingerprints of regressions that are slower at equal instructions, without
    proof that the code waits. They get no report of their own.
    """

    regressions: tuple[Regression, ...]
    unproven: frozenset[str] = frozenset()


Words = Callable[[Regression, Sequence[Regression]], Notice]
"""Writes the notice of a regression; the second argument has other regressions with the same cause,
which the notice reports too."""


class DecisionKind(StrEnum):
    """What a person decided about a regression, such as acknowledged or won't fix."""

    ACKNOWLEDGED = "acknowledged"
    WONT_FIX = "won't fix"
    REOPENED = "reopened"


class PersonDecision(Frozen):
    """A person's decision about a regression: what, by whom, and where to see it."""

    fingerprint: str
    kind: DecisionKind
    by: str
    at: datetime
    note: str = ""


class RegressedCommit(Frozen):
    """The commit that a regression began with: its hash, and its repository as OWNER/NAME."""

    repository: str
    sha: str
    target: str


class SinkAction(Frozen):
    """What a sink did for a regression: created, updated or closed its report.

    ``place`` is the file or the address of the report. ``new`` means that the regression had no
    report before, ``changed`` that the sink sent or wrote something.
    """

    fingerprint: str
    place: str
    new: bool = False
    changed: bool = False


class SinkResult(Frozen):
    """Everything that a sink did, and what it had to postpone, one line each."""

    actions: tuple[SinkAction, ...] = ()
    left: tuple[str, ...] = ()


@runtime_checkable
class PullRequestReader(Protocol):
    """A sink that can read which regressions maintainers accepted in pull requests."""

    def accepted(self, commits: Mapping[str, RegressedCommit]) -> Sequence[PersonDecision]:
        """Return the regressions that maintainers accepted, as decisions.

        ``commits`` has the commit that each regression began with, by fingerprint of the
        regression.
        """
        ...


class Sink(Protocol):
    """A place where regressions are reported: files, GitHub, a webhook or Slack.

    A sink is idempotent, and it retries what failed when it is called again. It raises UserError
    for configuration mistakes only, never because a service is unavailable.
    """

    name: str

    def decisions(self) -> Sequence[PersonDecision]:
        """Return what people decided in this sink since the last call, oldest first."""
        ...

    def report(self, causes: Sequence[Cause], words: Words, *, suspected: bool) -> SinkResult:
        """Report new regressions in this sink, and update the reports of known ones.

        With ``suspected``, regressions that no experiment has confirmed are reported too.
        """
        ...
