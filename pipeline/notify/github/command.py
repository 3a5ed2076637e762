"""Commands in comments on pull requests: ``/nightshift`` and ``/nightshift accept REASON``.

A comment is untrusted. Every word is checked before anything is started, and only commands of
people who may write to the repository are executed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict

from pipeline.notify.github.client import Client
from pipeline.notify.github.event import (
    MeasuredCommit,
    check_event_repository,
    read_event,
    read_pull_request,
)
from pipeline.notify.github.failures import GithubRefusedError
from pipeline.text.errors import UserError

NAME = "/nightshift"
"""The first word of a command."""

MAY_ASK = ("admin", "maintain", "write")
"""Permissions that allow commands: whoever has one may push a workflow, and so could run any code
anyway."""

MODES = ("time", "count")

STEP = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+-]{0,63}")
"""The names of steps that a command may contain; none contains a character that is special to a
shell."""

MOST_STEPS = 50
"""Maximum number of steps in a command."""

LONGEST_REASON = 200
"""Maximum length of the reason of an acceptance, in characters."""


class MeasureCommand(NamedTuple):
    """The command to measure a pull request, with the options that the comment gives."""

    steps: tuple[str, ...] = ()
    mode: str = ""


class AcceptCommand(NamedTuple):
    """The command to accept the measured regression of a pull request, with the reason."""

    reason: str


Command = MeasureCommand | AcceptCommand


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Login(_Part):
    login: str


class _Comment(_Part):
    id: int
    body: str | None = None
    html_url: str = ""
    user: _Login | None = None


class _Issue(_Part):
    number: int
    pull_request: Mapping[str, object] | None = None


class _Named(_Part):
    full_name: str


class _CommentEvent(_Part):
    action: str
    repository: _Named
    issue: _Issue
    comment: _Comment


class PullRequestComment(NamedTuple):
    """A comment on a pull request: its text, its author and the pull request."""

    id: int
    number: int
    author: str
    text: str
    page: str


def read_comment(file: Path, repository: str) -> PullRequestComment | None:
    """Return the new comment of an event; None if it is not on a pull request.

    Raises UserError for a file that is no event of a comment in this repository.
    """
    event = read_event(
        file, _CommentEvent, "an event of a comment", " in a workflow started by issue_comment"
    )
    check_event_repository(file, event.repository.full_name, repository)
    comment = event.comment
    if event.action != "created" or event.issue.pull_request is None or comment.user is None:
        return None
    return PullRequestComment(
        comment.id, event.issue.number, comment.user.login, comment.body or "", comment.html_url
    )


def is_command(text: str) -> bool:
    """Whether the first word in the first line of a comment is that of a command."""
    return _words(text)[:1] == [NAME]


def parse_command(text: str) -> Command:
    """Return the command that a comment begins with. Raises UserError for invalid arguments."""
    words = _words(text)[1:]
    if words[:1] == ["accept"]:
        reason = " ".join(words[1:])
        if not reason:
            raise UserError(f"the reason is missing; write {NAME} accept REASON")
        if len(reason) > LONGEST_REASON:
            raise UserError(f"the reason is longer than {LONGEST_REASON} characters; shorten it")
        return AcceptCommand(reason)
    return _measure(words)


def _words(text: str) -> list[str]:
    return (text.splitlines() or [""])[0].split()


def _measure(words: list[str]) -> MeasureCommand:
    given: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if name not in MeasureCommand._fields or not sign:
            raise UserError(
                f"{word[:64]!r} is not a valid argument; write {NAME}, {NAME} "
                f"steps=scan,point-query mode=count, or {NAME} accept REASON"
            )
        if name in given:
            raise UserError(f"{name}= appears twice; write it once")
        given[name] = value
    mode = given.get("mode", "")
    if "mode" in given and mode not in MODES:
        raise UserError(f"mode={mode[:64]} is not a mode; write mode=time or mode=count")
    steps = tuple(given["steps"].split(",")) if "steps" in given else ()
    for step in steps:
        if not STEP.fullmatch(step):
            raise UserError(
                f"{step[:64]!r} is not the name of a step; write steps=scan,point-query"
            )
    if len(steps) > MOST_STEPS:
        raise UserError(f"steps= has more than {MOST_STEPS} steps; name fewer")
    return MeasureCommand(steps, mode)


def may_ask(client: Client, repository: str, login: str) -> bool:
    """Whether somebody may write to the repository.

    The author association of a comment is not enough: people with read access are collaborators
    too, and private memberships are not shown.
    """
    try:
        found = client.read(f"/repos/{repository}/collaborators/{quote(login, safe='')}/permission")
    except GithubRefusedError:
        return False
    return found["permission"] in MAY_ASK


def react(client: Client, repository: str, comment: PullRequestComment, content: str) -> None:
    """Add a reaction to a comment. A second one of the same kind changes nothing."""
    place = f"/repos/{repository}/issues/comments/{comment.id}/reactions"
    client.write("POST", place, {"content": content})


class MeasuringWorkflow(NamedTuple):
    """The file name of the workflow that measures, and the branch that it runs on.

    An empty branch means the default branch. A run on another branch cannot write the caches that
    the default branch reads.
    """

    file: str
    branch: str = ""


def start_measurement(
    client: Client,
    repository: str,
    workflow: MeasuringWorkflow,
    number: int,
    command: MeasureCommand,
) -> MeasuredCommit:
    """Start the workflow that measures the commits as they are now; return the measured commit.

    Commits that are pushed later are not measured: the maintainer did not see them. Raises
    UserError for a closed pull request, and for a workflow that does not exist or does not accept
    the arguments.
    """
    pull = read_pull_request(client, repository, number)
    if not pull.open:
        raise UserError(f"#{number} is closed; reopen it to measure it")
    inputs = {"number": str(number), "base": pull.base, "head": pull.sha}
    if command.steps:
        inputs["steps"] = " ".join(command.steps)
    if command.mode:
        inputs["mode"] = command.mode
    branch = workflow.branch or client.read(f"/repos/{repository}")["default_branch"]
    place = f"/repos/{repository}/actions/workflows/{quote(workflow.file, safe='')}/dispatches"
    asked = {"ref": branch, "inputs": inputs, "return_run_details": True}
    try:
        run = client.write("POST", place, asked) or {}
    except GithubRefusedError as error:
        raise UserError(
            f"{workflow.file} was not started ({error}); it must be on the branch {branch}, and "
            f"its trigger workflow_dispatch must have the inputs {', '.join(inputs)}"
        ) from error
    return MeasuredCommit(
        sha=pull.sha,
        # GitHub Enterprise Server before 3.21 does not return the run.
        run=str(run.get("workflow_run_id", "")),
        page=str(run.get("html_url", "")),
        number=number,
        current=True,
    )
