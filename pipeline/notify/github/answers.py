"""What is read from GitHub's answers; the rest of them is passed over."""

from __future__ import annotations

from datetime import datetime
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.notify.github.failures import UnavailableError, UnknownError


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class User(_Read):
    """An account; an app's ``type`` is Bot."""

    login: str
    type: str = "User"


class Label(_Read):
    """A label."""

    name: str


class Repository(_Read):
    """A repository. Its ``id`` stays when it is renamed."""

    id: int
    full_name: str
    html_url: str
    has_issues: bool = True
    archived: bool = False


class Issue(_Read):
    """An issue, or a pull request where ``pull_request`` is set."""

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
        """Its labels, in lower case: GitHub does not tell them apart by it."""
        return {label.name.lower() for label in self.labels}


class Comment(_Read):
    """A comment on an issue."""

    user: User | None = None
    body: str | None = None


class Event(_Read):
    """Something that happened to an issue."""

    id: int
    event: str
    actor: User | None = None
    created_at: datetime
    label: Label | None = None
    state_reason: str | None = None

    @property
    def by(self) -> str:
        """Who did it; ghost, as GitHub says, where the account is no more."""
        return self.actor.login if self.actor is not None else "ghost"


_Answer = TypeVar("_Answer", bound=_Read)


def read_as(kind: type[_Answer], data: object, *, written: bool = False) -> _Answer:
    """Return an answer as what it should be.

    Raises UnavailableError where it is not; UnknownError where it is the answer to what was
    ``written``, as that was done then.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise (UnknownError if written else UnavailableError)(
            f"GitHub's answer is no {kind.__name__.lower()} as this nightshift knows them"
        ) from error
