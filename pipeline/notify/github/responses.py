"""Types for GitHub's answers; unknown fields are ignored."""

from __future__ import annotations

from datetime import datetime
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.notify.github.failures import UnavailableError, UnknownError


class _Response(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class User(_Response):
    """A GitHub account; the ``type`` of an app's account is Bot."""

    login: str
    type: str = "User"


class Label(_Response):
    """A label of a GitHub issue."""

    name: str


class Repository(_Response):
    """A GitHub repository; its ``id`` stays the same when the repository is renamed."""

    id: int
    full_name: str
    html_url: str
    has_issues: bool = True
    archived: bool = False


class Issue(_Response):
    """A GitHub issue, or a pull request if ``pull_request`` is set."""

    number: int
    title: str
    body: str | None = None
    user: User | None = None
    labels: tuple[Label, ...] = ()
    state: str
    state_reason: str | None = None
    closed_by: User | None = None
    locked: bool = False
    html_url: str
    repository_url: str = ""
    created_at: datetime
    updated_at: datetime
    pull_request: dict[str, object] | None = None

    @property
    def names(self) -> set[str]:
        """The names of the issue's labels in lower case."""
        return {label.name.lower() for label in self.labels}


class Comment(_Response):
    """A comment on a GitHub issue or pull request."""

    user: User | None = None
    body: str | None = None


class IssueEvent(_Response):
    """What somebody did with a GitHub issue, such as closing or labelling it."""

    id: int
    event: str
    actor: User | None = None
    created_at: datetime
    label: Label | None = None
    state_reason: str | None = None

    @property
    def by(self) -> str:
        """The account that caused the event; "ghost" if the account no longer exists."""
        return self.actor.login if self.actor is not None else "ghost"


_Answer = TypeVar("_Answer", bound=_Response)


def read_as(kind: type[_Answer], data: object, *, written: bool = False) -> _Answer:
    """Parse GitHub's answer as a type.

    Raises UnavailableError if the answer is invalid. If it is the answer to a write (``written``),
    which GitHub has then carried out, raises UnknownError instead.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise (UnknownError if written else UnavailableError)(
            f"the response of GitHub is not a valid {kind.__name__.lower()}"
        ) from error
