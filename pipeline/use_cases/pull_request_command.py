"""Execute a command in a comment on a pull request."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from pipeline.notify.base.pull_request import WaitingState
from pipeline.notify.github.acceptance import Acceptance, accept
from pipeline.notify.github.client import Client
from pipeline.notify.github.command import (
    AcceptCommand,
    Command,
    MeasuringWorkflow,
    PullRequestComment,
    is_command,
    may_ask,
    parse_command,
    react,
    read_comment,
    start_measurement,
)
from pipeline.notify.github.event import WaitingMeasurement, read_pull_request
from pipeline.notify.github.failures import GithubRefusedError, UnavailableError
from pipeline.text.errors import UserError
from pipeline.use_cases.context import Context
from pipeline.use_cases.github_client import github_client
from pipeline.use_cases.pull_request import announce_commit

_LOG = logging.getLogger(__name__)

SEEN, REFUSED = "eyes", "confused"
"""GitHub's reactions to a comment: the command was read; it was refused."""


class CommandRequest(NamedTuple):
    """A comment on a pull request, as GitHub's event, which may contain a command.

    ``workflow`` is the file name of the workflow that measures, ``branch`` the branch on which it
    runs; empty for the default branch.
    """

    event: Path
    repository: str
    workflow: str
    branch: str


class ObeyedCommand(NamedTuple):
    """What was done about a comment, in one line."""

    done: bool
    text: str


def obey_comment(context: Context, asked: CommandRequest) -> ObeyedCommand:
    """Start a measurement, or record that a regression is accepted, as a comment asks.

    The comment gets the reaction ``eyes``, and ``confused`` if the command is refused. Raises
    UserError for a maintainer's command that cannot be executed, and if GitHub cannot be reached.
    """
    client, repository = github_client(context, asked.repository, "write access to actions")
    comment = read_comment(asked.event, repository)
    if comment is None or not is_command(comment.text):
        return ObeyedCommand(False, "the comment is not a command on a pull request")
    measuring = MeasuringWorkflow(asked.workflow, asked.branch)
    try:
        return _obeyed(client, repository, measuring, comment)
    except UnavailableError as error:
        raise UserError(
            f"the command was not carried out: {error}; write it again in a new comment later"
        ) from error
    except GithubRefusedError as error:
        raise UserError(
            f"the command was not carried out: {error}; check that #{comment.number} and the "
            f"comment still exist in {repository}"
        ) from error


def _obeyed(
    client: Client, repository: str, workflow: MeasuringWorkflow, comment: PullRequestComment
) -> ObeyedCommand:
    react(client, repository, comment, SEEN)
    if not may_ask(client, repository, comment.author):
        react(client, repository, comment, REFUSED)
        return ObeyedCommand(
            False, f"{comment.author} may not write to {repository}, so the command is ignored"
        )
    try:
        command = parse_command(comment.text)
        return ObeyedCommand(True, _done(client, repository, workflow, comment, command))
    except (UserError, GithubRefusedError):
        react(client, repository, comment, REFUSED)
        raise


def _done(
    client: Client,
    repository: str,
    workflow: MeasuringWorkflow,
    comment: PullRequestComment,
    command: Command,
) -> str:
    if isinstance(command, AcceptCommand):
        sha = read_pull_request(client, repository, comment.number).sha
        acceptance = Acceptance(comment.number, sha, comment.author, command.reason, comment.page)
        names = accept(client, repository, acceptance)
        return f"accepted for {comment.author}: {', '.join(names)}"
    commit = start_measurement(client, repository, workflow, comment.number, command)
    waiting = WaitingMeasurement(commit=commit, state=WaitingState.QUEUED)
    try:
        announce_commit(client, repository, "", waiting)
    except (UserError, GithubRefusedError, UnavailableError) as error:
        # The measurement runs all the same.
        _LOG.warning(
            "the measurement was started, but not announced in the pull request: %s", error
        )
    return f"started {workflow.file} for #{comment.number} at {commit.sha}"
