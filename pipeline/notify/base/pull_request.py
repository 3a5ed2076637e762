"""The content of a pull request report, for every sender."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class PullRequestOutcome(StrEnum):
    """The outcome of measuring a pull request."""

    PASSED = "passed"
    REGRESSION = "regression"
    UNDECIDED = "undecided"
    COULD_NOT_RUN = "could not run"


class Note(NamedTuple):
    """One figure that changed, in plain text."""

    regression: bool
    title: str
    message: str


class Words(NamedTuple):
    """A text for people: ``title`` is one line of plain text, ``body`` is markdown."""

    outcome: PullRequestOutcome
    title: str
    body: str
    notes: tuple[Note, ...] = ()
