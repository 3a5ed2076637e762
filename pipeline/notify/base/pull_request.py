"""The content of a report to a pull request: verdict, title, text and notes."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class PullRequestOutcome(StrEnum):
    """The outcome of measuring a pull request.

    ``could not build``: the build of head failed. ``could not run``: somebody has to correct the
    request or look at what was sent. ``not measured``: the machine or the job failed, and the pull
    request is not to blame.
    """

    PASSED = "passed"
    REGRESSION = "regression"
    UNDECIDED = "undecided"
    COULD_NOT_BUILD = "could not build"
    COULD_NOT_RUN = "could not run"
    NOT_MEASURED = "not measured"


WITHOUT_RESULT = (
    PullRequestOutcome.COULD_NOT_BUILD,
    PullRequestOutcome.COULD_NOT_RUN,
    PullRequestOutcome.NOT_MEASURED,
)
"""The outcomes without a measurement."""


class WaitingState(StrEnum):
    """The states of a measurement that has not ended."""

    QUEUED = "queued"
    IN_PROGRESS = "in_progress"


class WaitingText(NamedTuple):
    """The text of a check run before there is a result: a plain title, and markdown."""

    title: str
    body: str


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
