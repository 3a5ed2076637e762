"""Failures of requests to GitHub, by whether the request was done."""

from __future__ import annotations

from pipeline.text.errors import UserError


class UnavailableError(Exception):
    """GitHub is unavailable, or limits us; the request was not done."""


class UnknownError(UnavailableError):
    """It is unknown whether a write was done: the response was lost, or was a GitHub error."""


class GithubRefusedError(Exception):
    """GitHub understood the request and refuses it: 404, 410, 422 and the like."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"GitHub refuses the request ({status}: {message})")
        self.status = status


class ForbiddenError(UserError):
    """The token lacks the permission. The text says so in one line, with the remedy."""


class NotSentError(Exception):
    """The request certainly did not reach GitHub. The text gives the reason."""


class CutError(Exception):
    """The request was sent, but its response is missing or incomplete. The text says why."""
