"""The content of a report to a pull request: verdict, title, text and notes."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class PullRequestOutcome(StrEnum):
    """The verdict on a pull request, as passed or regressed."""

    PASSED = "passed"
    REGRESSION = "regression"
    UNDECIDED = "undecided"
    COULD_NOT_RUN = "could not run"


class Note(NamedTuple):
    """One changed metric of a pull request, in plain text."""

    regression: bool
    title: str
    message: str


class Words(NamedTuple):
    """A text for people: a ``title`` of one plain line, and a ``body`` in markdown."""

    outcome: PullRequestOutcome
    title: str
    body: str
    notes: tuple[Note, ...] = ()
