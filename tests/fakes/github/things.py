"""What the fake keeps: issues, pull requests, checks, workflow runs and whom they are of."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

Value = TypeVar("Value")

Role = Literal["none", "read", "triage", "write", "admin"]
"""What a person may do in a repository; each may do what those before it may."""

ROLES: tuple[Role, ...] = ("none", "read", "triage", "write", "admin")


class Kept(Generic[Value]):
    """Values by key, and what each was after every write, so that a listing can be behind."""

    def __init__(self) -> None:
        self._versions: dict[Any, tuple[list[int], list[Value | None]]] = {}

    def put(self, key: Any, value: Value | None, write: int) -> None:
        """Keep a value from a write on; None takes it away."""
        writes, values = self._versions.setdefault(key, ([], []))
        writes.append(write)
        values.append(value)

    def get(self, key: Any) -> Value | None:
        """Return the value as it is now."""
        versions = self._versions.get(key)
        return versions[1][-1] if versions else None

    def all(self, until: int | None = None) -> list[Value]:
        """Return the values in the order of their first write, as they were after a write."""
        found = []
        for writes, values in self._versions.values():
            at = len(writes) if until is None else bisect_right(writes, until)
            if at and (value := values[at - 1]) is not None:
                found.append(value)
        return found


@dataclass(frozen=True)
class Account:
    """Somebody who asks: nobody (no token), a person, or an app such as ``github-actions[bot]``.

    ``permissions`` are those of the token, as ``{"issues": "write"}``; None is a person's classic
    token, which may what the person may. ``only`` is the one repository that it may write to, as
    that of a workflow's token.
    """

    login: str = ""
    app: bool = False
    permissions: Mapping[str, str] | None = field(default_factory=dict)
    only: str = ""


@dataclass(frozen=True)
class Label:
    """A label of a repository."""

    id: int
    name: str
    color: str = "ededed"
    description: str | None = None


@dataclass(frozen=True)
class Pull:
    """What a pull request has beyond an issue. ``head`` is the repository it comes from."""

    head: str
    branch: str
    sha: str
    base_branch: str
    base_sha: str
    files: tuple[str, ...] = ()
    merged: bool = False
    merge_sha: str = ""
    draft: bool = False


@dataclass(frozen=True)
class Issue:
    """An issue, or a pull request, which is one, too.

    ``gone`` says why it is answered with 410, ``moved`` is the path that it is answered with 301.
    """

    id: int
    number: int
    title: str
    body: str | None
    user: str
    created: datetime
    updated: datetime
    labels: tuple[str, ...] = ()
    state: str = "open"
    reason: str | None = None
    closed: datetime | None = None
    closed_by: str | None = None
    locked: bool = False
    gone: str = ""
    moved: str = ""
    pull: Pull | None = None


@dataclass(frozen=True)
class Comment:
    """A comment on an issue or a pull request."""

    id: int
    number: int
    user: str
    body: str
    created: datetime
    updated: datetime


@dataclass(frozen=True)
class Event:
    """What happened to an issue; ``details`` are the members that its kind has of its own."""

    id: int
    number: int
    kind: str
    actor: str
    at: datetime
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """A check run."""

    id: int
    name: str
    sha: str
    app: str
    status: str
    conclusion: str | None
    started: str | None
    completed: str | None
    details_url: str | None
    external_id: str
    title: str | None
    summary: str | None
    text: str | None
    annotations: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Status:
    """A status of a commit."""

    id: int
    sha: str
    state: str
    context: str
    description: str | None
    target_url: str | None
    user: str
    created: datetime


@dataclass(frozen=True)
class Reaction:
    """What somebody put on a comment."""

    id: int
    comment: int
    user: str
    content: str
    created: datetime


@dataclass(frozen=True)
class Workflow:
    """A workflow, known by the path of its file.

    ``text`` is the file; without one nothing is known of its triggers.
    """

    id: int
    path: str
    name: str
    text: str = ""
    state: str = "active"


@dataclass(frozen=True)
class Run:
    """A run of a workflow. ``head`` is the repository whose code it runs."""

    id: int
    workflow: Workflow
    number: int
    event: str
    sha: str
    branch: str
    head: str
    actor: str
    title: str
    status: str
    conclusion: str | None
    created: datetime
    attempt: int = 1
    inputs: Mapping[str, Any] = field(default_factory=dict)
    after: int | None = None
    """The run whose activity started it, with the event workflow_run."""
    activity: str = ""
    """Which activity that was: requested, in_progress or completed."""
    skipped: bool = False
    """Whether the conditions of its jobs do not hold."""


@dataclass(frozen=True)
class Artifact:
    """What a run uploaded; ``content`` is a zip archive as it is downloaded, or hostile bytes."""

    id: int
    name: str
    run: int
    content: bytes
    created: datetime
    expired: bool = False


@dataclass(frozen=True)
class Runner:
    """A self-hosted runner."""

    id: int
    name: str
    labels: tuple[str, ...]
    status: str = "offline"
    busy: bool = False
    ephemeral: bool = False
    version: str | None = None


@dataclass
class Settings:
    """What a repository's administrator chooses, as GitHub has it in a new public repository.

    ``rules_require`` are the checks that rulesets require of the default branch,
    ``protection_requires`` those that branch protection does.
    """

    actions_enabled: bool = True
    allowed_actions: str = "all"
    default_permissions: str = "read"
    approval_policy: str = "first_time_contributors"
    rules_require: tuple[str, ...] = ()
    protection_requires: tuple[str, ...] = ()
    archived: bool = False
