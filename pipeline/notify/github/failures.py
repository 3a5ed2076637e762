"""What can go wrong between us and GitHub, by what it says of what was asked."""

from __future__ import annotations

from pipeline.errors import UserError


class UnavailableError(Exception):
    """GitHub is out of order, or limits us; what was asked was not done."""


class UnknownError(UnavailableError):
    """Whether a write was done is not known: the answer was lost, or was an error of GitHub's."""


class RefusedError(Exception):
    """GitHub understood what was asked and does not do it: 404, 410, 422 and the like."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"GitHub refuses it ({status}: {message})")
        self.status = status


class ForbiddenError(UserError):
    """The token may not do what was asked. It says so in one line, and what to do."""


class NotSentError(Exception):
    """The request did not reach GitHub, for certain. The text says why."""


class CutError(Exception):
    """The request was sent, and its answer is missing or half. The text says why."""
