"""What a pull request is told, whoever tells it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Outcome(StrEnum):
    """What came of a pull request. No two of them ever look alike."""

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
    """What is told. ``title`` is one line of plain text, ``body`` is markdown."""

    outcome: Outcome
    title: str
    body: str
    notes: tuple[Note, ...] = ()
