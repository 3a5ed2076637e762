"""Record on GitHub that a maintainer accepts the regression of a pull request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from pipeline.notify.github.client import Client
from pipeline.notify.github.event import MeasuredCommit
from pipeline.notify.github.failures import GithubRefusedError
from pipeline.notify.github.issue_text import ROOM, fit, title
from pipeline.notify.github.pulls import ACCEPTED, NAME, SUMMARY_ROOM, PullRequestTopic, made
from pipeline.text.errors import UserError
from pipeline.text.markdown import code, inert


class Acceptance(NamedTuple):
    """A maintainer's decision to accept the regression of a pull request's commit."""

    number: int
    sha: str
    author: str
    reason: str
    page: str

    @property
    def text(self) -> str:
        """The decision to accept a regression, as markdown."""
        where = f" ([comment](<{self.page}>))" if self.page else ""
        return (
            f"**Accepted** by {code(self.author)}: {code(self.reason)}{where}\n\n"
            "There is nothing to do: this check does not block. A later push is judged by its own "
            "measurement. What was accepted:"
        )


def accept(client: Client, repository: str, acceptance: Acceptance) -> list[str]:
    """Record an accepted regression in the check runs and comments of the pull request.

    Returns the names of the check runs, which become neutral: a required check then passes. The
    decision is valid only for these measurements: the next one is judged anew. Raises UserError if
    there is no regression to accept.
    """
    place = f"/repos/{repository}/commits/{acceptance.sha}/check-runs"
    checks = [
        each
        for each in client.read_all(place, "check_runs", filter="latest")
        if str(each["external_id"]).startswith(f"{NAME} ") and each["conclusion"] == "failure"
    ]
    if not checks:
        raise UserError(
            f"{acceptance.sha[:12]}, the newest commit of #{acceptance.number}, has no regression "
            "to accept; measure it first with /nightshift"
        )
    for check in checks:
        author, reason = inert(acceptance.author), inert(acceptance.reason)
        summary = f"{acceptance.text}\n\n{_without_advice(check['output']['summary'] or '')}"
        output = {
            "title": title(f"{ACCEPTED}{author}: {reason}"),
            "summary": fit(summary, SUMMARY_ROOM),
        }
        payload = {"status": "completed", "conclusion": "neutral", "output": output}
        place = f"/repos/{repository}/check-runs/{check['id']}"
        made(partial(client.write, "PATCH", place, payload))
    _extend_comments(client, repository, acceptance, checks)
    return [str(check["name"]) for check in checks]


def _without_advice(text: str) -> str:
    """Return a text without the paragraph that says what to do about the regression."""
    parts = text.split("\n\n")
    return "\n\n".join(part for part in parts if not part.startswith("**What to do:**"))


def _extend_comments(
    client: Client, repository: str, acceptance: Acceptance, checks: Sequence[Mapping[str, Any]]
) -> None:
    """Add a maintainer's decision to our comments on the pull request."""
    ours = {
        (f"{check['app']['slug']}[bot]", _marker(repository, acceptance.sha, str(check["name"])))
        for check in checks
    }
    place = f"/repos/{repository}/issues"
    for comment in client.read_all(f"{place}/{acceptance.number}/comments"):
        marker, _, rest = (comment["body"] or "").partition("\n")
        if ((comment["user"] or {}).get("login"), marker) not in ours:
            continue
        text = fit(f"{acceptance.text}\n\n{_without_advice(rest)}", ROOM - len(marker) - 1)
        change = partial(
            client.write,
            "PATCH",
            f"{place}/comments/{comment['id']}",
            {"body": f"{marker}\n{text}"},
        )
        # A locked conversation accepts no change; the check run remains.
        with suppress(GithubRefusedError):
            made(change)


def _marker(repository: str, sha: str, name: str) -> str:
    """Return the hidden marker of the comment that belongs to a check run."""
    target, _, machine_class = name.removeprefix(f"{NAME} / ").partition(" on ")
    return PullRequestTopic(repository, MeasuredCommit(sha=sha), target, machine_class).marker
