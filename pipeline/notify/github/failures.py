"""The ways in which a request to GitHub can fail, and whether GitHub carried it out."""

from __future__ import annotations

from pipeline.text.errors import UserError


class UnavailableError(Exception):
    """GitHub is not available or limits our requests; the request was not carried out."""


class UnknownError(UnavailableError):
    """A request to GitHub failed, and it is unknown whether GitHub carried it out."""


class GithubRefusedError(Exception):
    """GitHub refuses a request, for example with the status 404, 410 or 422."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"GitHub refuses the request ({status}: {message})")
        self.status = status


class ForbiddenError(UserError):
    """The token lacks a permission on GitHub; the text says which, and what to do."""


class NotSentError(Exception):
    """A request certainly did not reach GitHub; the text says why."""


class CutError(Exception):
    """A request got no complete answer, and GitHub may have carried it out; the text says why."""
