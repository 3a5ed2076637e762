"""Which pull request was measured, by GitHub's own word.

The artifact of a measurement is made by strangers. Where it goes is told by the event that started
us, which GitHub writes: the workflow run that measured, or a pull request of a CI of one's own.
"""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.errors import UserError
from pipeline.model import Frozen
from pipeline.notify.github.client import Client
from pipeline.notify.github.failures import RefusedError, UnavailableError

_NUMBER = re.compile(r"#(\d{1,9})\b")
_SHA = re.compile(r"\b[0-9a-f]{40}\b")

COMMIT = r"^[0-9a-f]{40}$"
"""What the hash of a commit is on GitHub."""


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Owner(_Read):
    login: str


class _Repository(_Read):
    full_name: str
    owner: _Owner
    default_branch: str = ""


class _Head(_Read):
    sha: str = Field(pattern=COMMIT)
    ref: str
    repo: _Repository | None = None


class _Pull(_Read):
    number: int
    state: str = "open"
    head: _Head


class _Numbered(_Read):
    number: int


class _Run(_Read):
    id: int
    event: str
    path: str = ""
    head_sha: str = Field(pattern=COMMIT)
    head_branch: str | None = None
    head_repository: _Repository | None = None
    display_title: str = ""
    conclusion: str | None = None
    html_url: str = ""
    pull_requests: tuple[_Numbered, ...] = ()


class _Event(_Read):
    repository: _Repository
    workflow_run: _Run | None = None
    pull_request: _Pull | None = None


class Measurement(Frozen):
    """What was measured, and by which run; what the artifact says has no part in it.

    ``run`` is empty for a CI that is none of GitHub's, and ``ended`` then. ``number`` is None where
    no open pull request is known to have the commit. ``current`` says that it still is the newest
    of the pull request.
    """

    sha: str
    run: str = ""
    ended: str = ""
    page: str = ""
    workflow: str = ""
    number: int | None = None
    current: bool = False


def find_measurement(client: Client, repository: str, file: Path) -> Measurement:
    """Return what an event is about, asking the API for its pull request.

    Raises UserError for an event of another repository, and one that is about no pull request.
    """
    event = _read(file)
    if event.repository.full_name.casefold() != repository.casefold():
        raise UserError(
            f"{file} is an event of {event.repository.full_name}, and not of {repository}"
        )
    if event.workflow_run is not None:
        return _of_run(client, repository, event.workflow_run, event.repository.default_branch)
    if event.pull_request is not None:
        pull = event.pull_request
        return _of_pull(Measurement(sha=pull.head.sha), _pull(client, repository, pull.number))
    raise UserError(f"{file} is about no workflow run and no pull request")


def _read(file: Path) -> _Event:
    try:
        return _Event.model_validate_json(file.read_bytes())
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"])) or "its beginning"
        raise UserError(
            f"{file} is no event as GitHub writes them, at {where}; give the file that "
            "GITHUB_EVENT_PATH names"
        ) from error


def _of_run(client: Client, repository: str, run: _Run, default_branch: str) -> Measurement:
    found = Measurement(
        sha=run.head_sha,
        run=str(run.id),
        ended=run.conclusion or "",
        page=run.html_url,
        workflow=run.path.partition("@")[0],
    )
    head = run.head_repository
    if run.event == "pull_request":
        return found if head is None else _of_branch(client, repository, run, head, found)
    if run.event != "workflow_dispatch":
        raise UserError(f"a run that was started by {run.event} measures no pull request")
    # What such a run is called is written by the default branch's workflow, or else by anybody
    # who can push a branch.
    own = head is not None and head.full_name.casefold() == repository.casefold()
    if not own or run.head_branch != default_branch:
        raise UserError(f"the run {run.id} was not started on {default_branch}, so nothing is told")
    number = _NUMBER.search(run.display_title)
    if number is None:
        raise UserError(
            f"the run {run.id} does not say which pull request it measured; let run-name of its "
            "workflow be as: nightshift #12 at COMMIT"
        )
    pull = _pull(client, repository, int(number[1]))
    sha = _SHA.search(run.display_title)
    measured = found.model_copy(update={"sha": sha[0] if sha else pull.head.sha})
    return _of_pull(measured, pull)


def _of_branch(
    client: Client, repository: str, run: _Run, head: _Repository, found: Measurement
) -> Measurement:
    """Return the measurement with its pull request: that of the branch, also where it is a fork's.

    What GitHub lists as pull requests of a commit, or with the run, lacks those from forks.
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
        # One branch can be asked to be merged into several.
        named = {each.number for each in run.pull_requests}
        fitting = [pull for pull in fitting if pull.number in named]
    return _of_pull(found, fitting[0]) if len(fitting) == 1 else found


def _of_pull(measured: Measurement, pull: _Pull) -> Measurement:
    current = pull.state == "open" and pull.head.sha == measured.sha
    return measured.model_copy(update={"number": pull.number, "current": current})


def _pull(client: Client, repository: str, number: int) -> _Pull:
    try:
        return _read_pull(client.read(f"/repos/{repository}/pulls/{number}"))
    except RefusedError as error:
        raise UserError(f"{repository} has no pull request #{number}") from error


def _read_pull(data: object) -> _Pull:
    try:
        return _Pull.model_validate(data)
    except ValidationError as error:
        raise UnavailableError("GitHub's answer is no pull request as it is known here") from error
