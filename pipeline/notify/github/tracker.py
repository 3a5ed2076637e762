"""The issues of one repository, read and written one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import quote

from pipeline.config import GithubSection
from pipeline.errors import UserError
from pipeline.notify.github.answers import Comment, Event, Issue, Repository, User, read_as
from pipeline.notify.github.client import Client
from pipeline.notify.github.failures import ForbiddenError, RefusedError

MISSES = 10
"""Numbers in a row that GitHub has no issue for, before there is taken to be none behind them.

Issues, pull requests and discussions share their numbers, and a discussion is answered with 404.
"""

_COLOUR = "c5def5"


class Tracker:
    """The issues of the repository that ``[github]`` names.

    Everything raises as :class:`Client` does. Listings may be behind; what is read by its number
    is not.
    """

    def __init__(self, client: Client, section: GithubSection) -> None:
        """Find the repository. Raises UserError where it cannot have issues from us."""
        self._client = client
        self._section = section
        try:
            read = client.read(f"/repos/{section.repository}")
        except RefusedError as error:
            raise UserError(
                f"[github] repository = {section.repository!r} is not there, or the token in "
                f"{section.secret} may not see it; write OWNER/NAME, and give the token access"
            ) from error
        self.repository = read_as(Repository, read)
        if self.repository.archived or not self.repository.has_issues:
            what = "is archived" if self.repository.archived else "has its issues turned off"
            raise UserError(
                f"{self.repository.full_name} {what}; change that, or [github] repository"
            )
        # It may have been renamed; a redirected write would lose its answer.
        self._at = f"/repos/{self.repository.full_name}"
        self._top = 0

    @cached_property
    def login(self) -> str:
        """Whose the token is; empty for an app, which may not ask."""
        try:
            return read_as(User, self._client.read("/user")).login
        except (ForbiddenError, RefusedError):
            return ""

    @cached_property
    def listed(self) -> Sequence[Issue]:
        """All issues with our label, the oldest first, as they were listed this night."""
        return list(self._issues(labels=self._section.labels[0], direction="asc"))

    def newest(self) -> int:
        """Return a number that was given: the newest that is listed."""
        first = next(self._issues(direction="desc", per_page=1, pulls=True), None)
        self._top = max(self._top, first.number if first is not None else 0)
        return self._top

    def newest_before(self, moment: datetime) -> int:
        """Return the number of the newest issue or pull request from before a moment."""
        for each in self._issues(direction="desc", pulls=True):
            self._top = max(self._top, each.number)
            if each.created_at < moment:
                return each.number
        return 0

    def after(self, number: int, until: datetime | None) -> Iterator[Issue]:
        """Read the issues behind a number one by one, up to a moment at which they were made.

        That is the truth where a listing may be behind.
        """
        self.newest()
        missed = 0
        while missed < MISSES or number < self._top:
            number += 1
            try:
                issue = self.issue(number)
            except RefusedError as error:
                missed = missed + 1 if error.status == 404 else 0
                continue
            missed = 0
            if until is not None and issue.created_at > until:
                return
            if issue.pull_request is None:
                yield issue

    def issue(self, number: int) -> Issue:
        """Read an issue. Raises RefusedError also where it was moved to another repository."""
        issue = read_as(Issue, self._client.read(f"{self._at}/issues/{number}"))
        home = issue.repository_url.lower()
        if home and not home.endswith(self._at.lower()):
            raise RefusedError(301, f"moved to {issue.html_url}")
        return issue

    def comments(self, number: int) -> list[Comment]:
        """Read the comments on an issue, the oldest first."""
        path = f"{self._at}/issues/{number}/comments"
        return [read_as(Comment, each) for each in self._client.read_all(path)]

    def events(self, number: int) -> list[Event]:
        """Read what happened to an issue, the oldest first."""
        path = f"{self._at}/issues/{number}/events"
        return [read_as(Event, each) for each in self._client.read_all(path)]

    def create(self, title: str, body: str, labels: Sequence[str]) -> Issue | None:
        """Open an issue; None where it is only shown."""
        payload = {"title": title, "body": body, "labels": list(labels)}
        made = self._client.write("POST", f"{self._at}/issues", payload)
        return read_as(Issue, made, written=True) if made is not None else None

    def edit(self, number: int, **changes: str) -> None:
        """Change the title, the body or the state of an issue."""
        self._client.write("PATCH", f"{self._at}/issues/{number}", changes)

    def label(self, number: int, labels: Sequence[str]) -> None:
        """Put labels on an issue beside those that it has."""
        self._client.write("POST", f"{self._at}/issues/{number}/labels", {"labels": list(labels)})

    def comment(self, number: int, text: str) -> Comment | None:
        """Comment on an issue; None where it is only shown."""
        path = f"{self._at}/issues/{number}/comments"
        made = self._client.write("POST", path, {"body": text})
        return read_as(Comment, made, written=True) if made is not None else None

    def offer(self, label: str, description: str) -> None:
        """Make a label that people can choose, if there is none of its name."""
        try:
            self._client.read(f"{self._at}/labels/{quote(label, safe='')}")
        except RefusedError:
            payload = {"name": label, "color": _COLOUR, "description": description}
            self._client.write("POST", f"{self._at}/labels", payload)

    def _issues(self, *, pulls: bool = False, **query: Any) -> Iterator[Issue]:
        asked = {"state": "all", "sort": "created", **query}
        for each in self._client.read_all(f"{self._at}/issues", **asked):
            issue = read_as(Issue, each)
            if pulls or issue.pull_request is None:
                yield issue
