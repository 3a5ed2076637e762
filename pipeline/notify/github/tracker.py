"""Read and write the issues of one GitHub repository."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import quote

from pipeline.config import GithubSection
from pipeline.notify.github.client import Client
from pipeline.notify.github.failures import ForbiddenError, GithubRefusedError
from pipeline.notify.github.responses import Comment, Issue, IssueEvent, Repository, User, read_as
from pipeline.text.errors import UserError

MISSES = 10
"""Consecutive numbers without an issue after which the search for further issues ends.

Issues, pull requests and discussions share their numbers, and GitHub responds with 404 for a
discussion.
"""

_COLOUR = "c5def5"


class Tracker:
    """The issues of the GitHub repository that ``[github]`` names.

    All methods raise the errors of :class:`Client`. Listings may lag behind; an issue read by
    number is current.
    """

    def __init__(self, client: Client, section: GithubSection) -> None:
        """Find the repository. Raises UserError if it cannot have issues."""
        self._client = client
        self._section = section
        try:
            read = client.read(f"/repos/{section.repository}")
        except GithubRefusedError as error:
            raise UserError(
                f"[github] repository = {section.repository!r} does not exist, or the token in "
                f"{section.secret} has no access; write OWNER/NAME, and give the token access"
            ) from error
        self.repository = read_as(Repository, read)
        if self.repository.archived or not self.repository.has_issues:
            what = "is archived" if self.repository.archived else "has issues disabled"
            raise UserError(
                f"{self.repository.full_name} {what}; change this, or set [github] repository to "
                "another one"
            )
        # The repository may have been renamed; a redirected write would lose its response.
        self._at = f"/repos/{self.repository.full_name}"
        self._top = 0

    @cached_property
    def login(self) -> str:
        """The GitHub account of the token; empty for an app."""
        try:
            return read_as(User, self._client.read("/user")).login
        except (ForbiddenError, GithubRefusedError):
            return ""

    @cached_property
    def listed(self) -> Sequence[Issue]:
        """All issues with nightshift's label, oldest first."""
        return list(self._issues(labels=self._section.labels[0], direction="asc"))

    def newest(self) -> int:
        """Return the number of the newest issue with nightshift's label."""
        first = next(self._issues(direction="desc", per_page=1, pulls=True), None)
        self._top = max(self._top, first.number if first is not None else 0)
        return self._top

    def newest_before(self, moment: datetime) -> int:
        """Return the number of the newest issue or pull request before a time."""
        for each in self._issues(direction="desc", pulls=True):
            self._top = max(self._top, each.number)
            if each.created_at < moment:
                return each.number
        return 0

    def after(self, number: int, until: datetime | None) -> Iterator[Issue]:
        """Read the issues after a number one by one, up to a creation time.

        Unlike a listing, this cannot lag behind.
        """
        self.newest()
        missed = 0
        while missed < MISSES or number < self._top:
            number += 1
            try:
                issue = self.issue(number)
            except GithubRefusedError as error:
                missed = missed + 1 if error.status == 404 else 0
                continue
            missed = 0
            if until is not None and issue.created_at > until:
                return
            if issue.pull_request is None:
                yield issue

    def issue(self, number: int) -> Issue:
        """Read an issue. Raises GithubRefusedError also if it moved to another repository."""
        issue = read_as(Issue, self._client.read(f"{self._at}/issues/{number}"))
        home = issue.repository_url.lower()
        if home and not home.endswith(self._at.lower()):
            raise GithubRefusedError(301, f"moved to {issue.html_url}")
        return issue

    def comments(self, number: int) -> list[Comment]:
        """Read the comments on an issue, oldest first."""
        path = f"{self._at}/issues/{number}/comments"
        return [read_as(Comment, each) for each in self._client.read_all(path)]

    def events(self, number: int) -> list[IssueEvent]:
        """Read the events of an issue, oldest first."""
        path = f"{self._at}/issues/{number}/events"
        return [read_as(IssueEvent, each) for each in self._client.read_all(path)]

    def create(self, title: str, body: str, labels: Sequence[str]) -> Issue | None:
        """Create an issue; return None in a preview."""
        payload = {"title": title, "body": body, "labels": list(labels)}
        made = self._client.write("POST", f"{self._at}/issues", payload)
        return read_as(Issue, made, written=True) if made is not None else None

    def edit(self, number: int, **changes: str) -> None:
        """Change the title, the body or the state of an issue."""
        self._client.write("PATCH", f"{self._at}/issues/{number}", changes)

    def label(self, number: int, labels: Sequence[str]) -> None:
        """Add labels to an issue."""
        self._client.write("POST", f"{self._at}/issues/{number}/labels", {"labels": list(labels)})

    def comment(self, number: int, text: str) -> Comment | None:
        """Comment on an issue; return None in a preview."""
        path = f"{self._at}/issues/{number}/comments"
        made = self._client.write("POST", path, {"body": text})
        return read_as(Comment, made, written=True) if made is not None else None

    def offer(self, label: str, description: str) -> None:
        """Create a label, unless a label with its name exists."""
        try:
            self._client.read(f"{self._at}/labels/{quote(label, safe='')}")
        except GithubRefusedError:
            payload = {"name": label, "color": _COLOUR, "description": description}
            self._client.write("POST", f"{self._at}/labels", payload)

    def _issues(self, *, pulls: bool = False, **query: Any) -> Iterator[Issue]:
        asked = {"state": "all", "sort": "created", **query}
        for each in self._client.read_all(f"{self._at}/issues", **asked):
            issue = read_as(Issue, each)
            if pulls or issue.pull_request is None:
                yield issue
