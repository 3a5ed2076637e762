"""Find which pull request was measured, from data that only GitHub can have written.

The artifact of a measurement is untrusted. The target of the report therefore comes from the
triggering event, which GitHub writes: the workflow run that measured, the id of that run in an
event of workflow_dispatch, or a pull request of another CI.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.model import Frozen
from pipeline.notify.base.pull_request import WaitingState
from pipeline.notify.github.client import Client
from pipeline.notify.github.failures import GithubRefusedError, UnavailableError
from pipeline.text.errors import UserError

_NUMBER = re.compile(r"#(\d{1,9})\b")
_SHA = re.compile(r"\b[0-9a-f]{40}\b")

COMMIT = r"^[0-9a-f]{40}$"
"""The pattern of a commit hash on GitHub."""

_Event = TypeVar("_Event", bound=BaseModel)


class _WorkflowRun(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Owner(_WorkflowRun):
    login: str


class _Repository(_WorkflowRun):
    full_name: str
    owner: _Owner
    default_branch: str = ""


class _Head(_WorkflowRun):
    sha: str = Field(pattern=COMMIT)
    ref: str
    repo: _Repository | None = None


class _Base(_WorkflowRun):
    sha: str = Field(pattern=COMMIT)


class _Pull(_WorkflowRun):
    number: int
    state: str = "open"
    head: _Head
    base: _Base | None = None


class _Numbered(_WorkflowRun):
    number: int


class _Run(_WorkflowRun):
    id: int
    event: str
    path: str = ""
    head_sha: str = Field(pattern=COMMIT)
    head_branch: str | None = None
    head_repository: _Repository | None = None
    display_title: str = ""
    status: str = ""
    conclusion: str | None = None
    html_url: str = ""
    pull_requests: tuple[_Numbered, ...] = ()


class _Job(_WorkflowRun):
    status: str
    conclusion: str | None = None


class _Inputs(_WorkflowRun):
    run: str = Field(default="", pattern=r"^[0-9]{0,19}$")


class _WorkflowEvent(_WorkflowRun):
    repository: _Repository
    inputs: _Inputs | None = None
    workflow_run: _Run | None = None
    pull_request: _Pull | None = None


class MeasuredCommit(Frozen):
    """The commit that a workflow run measured, according to GitHub, not to the uploaded result.

    ``run`` and ``ended`` are empty for a CI outside GitHub. ``number`` is None if no open pull
    request is known to have the commit. ``current`` means that the commit is still the pull
    request's newest. ``pushed`` means that a push to a branch was measured, not a pull request.
    """

    sha: str
    run: str = ""
    ended: str = ""
    page: str = ""
    workflow: str = ""
    number: int | None = None
    current: bool = False
    pushed: bool = False


class PullRequestHead(Frozen):
    """The newest commits of a pull request now: that of its branch, and that of its base."""

    sha: str
    base: str
    open: bool


def read_pull_request(client: Client, repository: str, number: int) -> PullRequestHead:
    """Return the commits of a pull request. Raises UserError if it does not exist."""
    pull = _pull(client, repository, number)
    if pull.base is None:
        raise UnavailableError("the response of GitHub is not a valid pull request")
    return PullRequestHead(sha=pull.head.sha, base=pull.base.sha, open=pull.state == "open")


def find_measurement(
    client: Client, repository: str, file: Path, branch: str = ""
) -> MeasuredCommit:
    """Return which commit of which pull request a workflow run has measured.

    The title of a run that was started by hand names the pull request; it is trusted only if the
    run was on the default branch or on ``branch``.

    Raises UserError for an event of another repository, and for one without a pull request.
    """
    event = _read(file)
    check_event_repository(file, event.repository.full_name, repository)
    run = event.workflow_run
    if run is None and event.inputs is not None and event.inputs.run:
        run = _run(client, repository, event.inputs.run)
    if run is not None:
        return _of_run(
            client, repository, run, tuple(filter(None, (event.repository.default_branch, branch)))
        )
    if event.pull_request is not None:
        pull = event.pull_request
        return _of_pull(MeasuredCommit(sha=pull.head.sha), _pull(client, repository, pull.number))
    raise UserError(
        f"{file} describes neither a workflow run nor a pull request; give the file that "
        "GITHUB_EVENT_PATH names"
    )


class WaitingMeasurement(Frozen):
    """A measurement that has not ended, and whether it waits for a machine or runs."""

    commit: MeasuredCommit
    state: WaitingState


def find_waiting(client: Client, repository: str, file: Path) -> WaitingMeasurement | None:
    """Return the present state of the measurement whose run was requested or has begun.

    None if the run has ended since then, waits for an approval, or measures nothing because the
    pull request lacks the label. Raises UserError for an event without a workflow run, and for one
    of another repository.
    """
    event = _read(file)
    if event.repository.full_name.casefold() != repository.casefold():
        raise UserError(
            f"{file} is an event of {event.repository.full_name}, not of {repository}; correct the "
            "repository, or give another file"
        )
    if event.workflow_run is None:
        raise UserError(
            f"{file} is not a workflow_run event; give the file that GITHUB_EVENT_PATH names"
        )
    # Events may arrive late, so the state is asked for.
    run = _run(client, repository, str(event.workflow_run.id))
    if run.status == "completed":
        return None
    place = f"/repos/{repository}/actions/runs/{run.id}/jobs"
    jobs = [_Job.model_validate(each) for each in client.read_all(place, "jobs")]
    if jobs and all(job.conclusion == "skipped" for job in jobs):
        return None
    running = any(job.status == "in_progress" for job in jobs)
    return WaitingMeasurement(
        commit=_of_run(client, repository, run, (event.repository.default_branch,)),
        state=WaitingState.IN_PROGRESS if running else WaitingState.QUEUED,
    )


def _run(client: Client, repository: str, number: str) -> _Run:
    try:
        return _Run.model_validate(client.read(f"/repos/{repository}/actions/runs/{number}"))
    except GithubRefusedError as error:
        raise UserError(
            f"{repository} has no workflow run {number}; check the id and the repository"
        ) from error
    except ValidationError as error:
        raise UnavailableError("the response of GitHub is not a valid workflow run") from error


def read_event(file: Path, form: type[_Event], what: str, where_from: str = "") -> _Event:
    """Parse a file with one of GitHub's events, which GITHUB_EVENT_PATH names in a workflow.

    Raises UserError if the file is unreadable, or is something else. ``what`` (the expected
    content) and ``where_from`` (where a user gets it) are parts of the error message.
    """
    try:
        return form.model_validate_json(file.read_bytes())
    except OSError as error:
        raise UserError(
            f"{file} cannot be read ({error.strerror}); give the file that GITHUB_EVENT_PATH names"
        ) from error
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"])) or "its beginning"
        raise UserError(
            f"{file} is not {what} (invalid at {where}); give the file that GITHUB_EVENT_PATH "
            f"names{where_from}"
        ) from error


def check_event_repository(file: Path, named: str, repository: str) -> None:
    """Raise UserError unless ``named``, the repository of an event, is ``repository``."""
    if named.casefold() != repository.casefold():
        raise UserError(
            f"{file} is an event of {named}, not of {repository}; correct the repository, or give "
            "another file"
        )


def _read(file: Path) -> _WorkflowEvent:
    return read_event(file, _WorkflowEvent, "a GitHub event")


def _of_run(
    client: Client, repository: str, run: _Run, branches: tuple[str, ...]
) -> MeasuredCommit:
    found = MeasuredCommit(
        sha=run.head_sha,
        run=str(run.id),
        ended=run.conclusion or "",
        page=run.html_url,
        workflow=run.path.partition("@")[0],
    )
    head = run.head_repository
    if run.event == "pull_request":
        return found if head is None else _of_branch(client, repository, run, head, found)
    if run.event == "merge_group":
        # GitHub's own commit of several pull requests; it has a check run and no comment.
        return found
    if run.event == "push":
        return found.model_copy(update={"pushed": True})
    if run.event != "workflow_dispatch":
        raise UserError(
            f"a workflow run started by {run.event} does not measure a pull request; use "
            "pull_request, push, merge_group or workflow_dispatch"
        )
    # The name of such a run is written by the workflow of a known branch, or else by anybody who
    # can push one.
    own = head is not None and head.full_name.casefold() == repository.casefold()
    if not own or run.head_branch not in branches:
        raise UserError(
            f"the run {run.id} was not started on the branch {branches[0]}, so its "
            "result is not reported"
        )
    number = _NUMBER.search(run.display_title)
    if number is None:
        raise UserError(
            f"the name of the run {run.id} does not contain the number of its pull request; set "
            "run-name in its workflow to, for example: nightshift #12 at COMMIT"
        )
    pull = _pull(client, repository, int(number[1]))
    sha = _SHA.search(run.display_title)
    measured = found.model_copy(update={"sha": sha[0] if sha else pull.head.sha})
    return _of_pull(measured, pull)


def _of_branch(
    client: Client, repository: str, run: _Run, head: _Repository, found: MeasuredCommit
) -> MeasuredCommit:
    """Complete a measurement with the pull request of its branch, which may be in a fork.

    GitHub's pull requests of a commit, or of a run, omit those from forks.
    """
    listed = client.read_all(
        f"/repos/{repository}/pulls", state="open", head=f"{head.owner.login}:{run.head_branch}"
    )
    pulls = [_read_pull(each) for each in listed]
    fitting = [
        pull
        for pull in pulls
        if pull.head.ref == run.head_branch
        and pull.head.repo is not None
        and pull.head.repo.full_name.casefold() == head.full_name.casefold()
    ]
    if len(fitting) > 1:
        # One branch may have several pull requests.
        named = {each.number for each in run.pull_requests}
        fitting = [pull for pull in fitting if pull.number in named]
    return _of_pull(found, fitting[0]) if len(fitting) == 1 else found


def _of_pull(measured: MeasuredCommit, pull: _Pull) -> MeasuredCommit:
    current = pull.state == "open" and pull.head.sha == measured.sha
    return measured.model_copy(update={"number": pull.number, "current": current})


def _pull(client: Client, repository: str, number: int) -> _Pull:
    try:
        return _read_pull(client.read(f"/repos/{repository}/pulls/{number}"))
    except GithubRefusedError as error:
        raise UserError(
            f"{repository} has no pull request #{number}; check the number and the repository"
        ) from error


def _read_pull(data: object) -> _Pull:
    try:
        return _Pull.model_validate(data)
    except ValidationError as error:
        raise UnavailableError("the response of GitHub is not a valid pull request") from error
