"""Pull requests, commits, check runs and statuses of commits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.fakes.github.calls import Answer, Call, Refused, Routes, invalid, listing, missing
from tests.fakes.github.issues import in_order
from tests.fakes.github.repository import Repository
from tests.fakes.github.shapes import moment
from tests.fakes.github.things import Check, Issue, Status

routes = Routes()

CHECK_STATUSES = ("queued", "in_progress", "completed", "waiting", "requested", "pending")
CONCLUSIONS = (
    "success",
    "failure",
    "neutral",
    "cancelled",
    "skipped",
    "timed_out",
    "action_required",
)
STATES = ("error", "failure", "pending", "success")
LEVELS = ("notice", "warning", "failure")

ANNOTATIONS = 50
"""Most annotations of one request."""
OUTPUT = 65_535
"""Longest summary and text of a check run, in characters."""
DESCRIPTION = 140
"""Longest description of a status, in characters."""


# --- pull requests -------------------------------------------------------------------


def head_of(call: Call, issue: Issue) -> Repository:
    """Return the repository that a pull request comes from."""
    assert issue.pull is not None
    return call.repositories[issue.pull.head]


def pull_of(call: Call) -> Issue:
    """Return the pull request of the path."""
    issue = call.repository.issues.get(call.number("number"))
    if issue is None or issue.pull is None or issue.gone:
        raise Refused(404, "Not Found")
    return issue


def _pulls(call: Call, found: list[Issue]) -> Answer:
    return listing(
        [call.shapes.pull(call.repository, head_of(call, issue), issue) for issue in found]
    )


@routes("GET", "/{repo}/pulls", "pull_requests:read")
def list_pulls(call: Call) -> Answer:
    query = call.asked.query
    state = query.get("state", "open")
    found = []
    for issue in call.repository.pulls(call.until):
        pull = issue.pull
        assert pull is not None
        head = f"{pull.head.partition('/')[0]}:{pull.branch}"
        # GitHub ignores a head without an owner.
        wanted = query.get("head", "")
        if (
            state in ("all", issue.state)
            and (":" not in wanted or wanted == head)
            and query.get("base", pull.base_branch) == pull.base_branch
        ):
            found.append(issue)
    sort = query.get("sort", "created")
    return _pulls(call, in_order(found, sort, query.get("direction", "desc")))


@routes("GET", "/{repo}/pulls/{number:int}", "pull_requests:read")
def get_pull(call: Call) -> Answer:
    issue = pull_of(call)
    return Answer(200, call.shapes.whole_pull(call.repository, head_of(call, issue), issue))


@routes("GET", "/{repo}/pulls/{number:int}/files", "pull_requests:read")
def list_files(call: Call) -> Answer:
    pull = pull_of(call).pull
    assert pull is not None
    return listing([call.shapes.file(call.repository, pull, name) for name in pull.files])


@routes("GET", "/{repo}/pulls/{number:int}/commits", "pull_requests:read")
def list_commits_of_pull(call: Call) -> Answer:
    pull = pull_of(call).pull
    assert pull is not None
    return listing([call.shapes.commit(call.repository, pull.sha)])


@routes("GET", "/{repo}/commits/{sha}", "contents:read")
def get_commit(call: Call) -> Answer:
    return Answer(200, call.shapes.commit(call.repository, call.commit(call.parts["sha"])))


@routes("GET", "/{repo}/commits/{sha}/pulls", "pull_requests:read")
def list_pulls_of_commit(call: Call) -> Answer:
    """List the pull requests with a commit, but for those of forks that are not merged.

    GitHub knows those by the branch of the fork alone: ``pulls?head=owner:branch``.
    """
    sha = call.commit(call.parts["sha"])
    own = call.repository.full_name
    return _pulls(
        call,
        [
            issue
            for issue in call.repository.pulls(call.until)
            if issue.pull
            and (
                (issue.pull.sha == sha and issue.pull.head == own)
                or (issue.pull.merged and issue.pull.merge_sha == sha)
            )
        ],
    )


# --- check runs ----------------------------------------------------------------------


def only_apps(call: Call) -> None:
    """Refuse people: check runs are written by apps alone, whatever a person's token may."""
    if not call.who.app:
        raise Refused(403, "You must authenticate via a GitHub App.")


@routes("POST", "/{repo}/check-runs", "checks:write")
def create_check(call: Call) -> Answer:
    only_apps(call)
    name = call.required("name", resource="CheckRun")
    sha = call.commit(call.required("head_sha", resource="CheckRun"))
    blank = Check(
        id=call.next_id(),
        name=name,
        sha=sha,
        app=call.who.login,
        status="queued",
        conclusion=None,
        started=call.text("started_at") or moment(call.now),
        completed=None,
        details_url=None,
        external_id="",
        title=None,
        summary=None,
        text=None,
    )
    check = call.repository.put_check(_changed(call, blank))
    return Answer(201, call.shapes.check(call.repository, check))


@routes("PATCH", "/{repo}/check-runs/{check:int}", "checks:write")
def update_check(call: Call) -> Answer:
    only_apps(call)
    check = check_of(call)
    if check.app != call.who.login:
        raise Refused(
            403,
            f"Invalid app_id `{call.who.login}` - check run can only be modified by "
            "the GitHub App that created it.",
        )
    changed = call.repository.put_check(_changed(call, check))
    return Answer(200, call.shapes.check(call.repository, changed))


def _changed(call: Call, check: Check) -> Check:
    """Return a check run as the body changes it; annotations are added to those that are there."""
    conclusion = call.choice("conclusion", CONCLUSIONS)
    status = call.choice("status", CHECK_STATUSES) or ("completed" if conclusion else check.status)
    if status == "completed" and not (conclusion or check.conclusion):
        raise missing("conclusion")
    completed = call.text("completed_at") or check.completed
    output = call.body.get("output") or {}
    if not isinstance(output, dict):
        raise Refused(422, "Invalid request.\n\noutput is not an object")
    if output and not isinstance(output.get("summary"), str):
        raise missing("summary")
    for part in ("title", "summary", "text"):
        if len(str(output.get(part) or "")) > OUTPUT:
            raise invalid("CheckRun", part, f"{part} exceeds a maximum of {OUTPUT} characters")
    annotations = output.get("annotations") or []
    _check_annotations(annotations)
    return replace(
        check,
        name=call.text("name") or check.name,
        status=status,
        conclusion=(conclusion or check.conclusion) if status == "completed" else None,
        started=call.text("started_at") or check.started,
        completed=(completed or moment(call.now)) if status == "completed" else None,
        details_url=call.text("details_url") or check.details_url,
        external_id=call.text("external_id") or check.external_id,
        title=output.get("title", check.title),
        summary=output.get("summary", check.summary),
        text=output.get("text", check.text),
        annotations=(*check.annotations, *annotations),
    )


def _check_annotations(annotations: list[Mapping[str, Any]]) -> None:
    if len(annotations) > ANNOTATIONS:
        raise Refused(
            422,
            f"Invalid request.\n\nNo more than {ANNOTATIONS} items are allowed; {len(annotations)} "
            "were supplied.",
        )
    for each in annotations:
        for name in ("path", "start_line", "end_line", "annotation_level", "message"):
            if name not in each:
                raise missing(name)
        if each["annotation_level"] not in LEVELS:
            raise Refused(422, f"Invalid request.\n\nannotation_level is one of {LEVELS}")
        if each["path"].startswith(("/", "./")) or not each["message"]:
            raise invalid("CheckAnnotation", "path")


def check_of(call: Call) -> Check:
    """Return the check run of the path."""
    check = call.repository.checks.get(call.number("check"))
    if check is None:
        raise Refused(404, "Not Found")
    return check


@routes("GET", "/{repo}/check-runs/{check:int}", "checks:read")
def get_check(call: Call) -> Answer:
    return Answer(200, call.shapes.check(call.repository, check_of(call)))


@routes("GET", "/{repo}/check-runs/{check:int}/annotations", "checks:read")
def list_annotations(call: Call) -> Answer:
    check = check_of(call)
    return listing(
        [call.shapes.annotation(call.repository, check, each) for each in check.annotations]
    )


@routes("GET", "/{repo}/commits/{sha}/check-runs", "checks:read")
def list_checks(call: Call) -> Answer:
    query = call.asked.query
    sha = call.commit(call.parts["sha"])
    found = [
        check
        for check in call.repository.checks.all(call.until)
        if check.sha == sha
        and query.get("check_name", check.name) == check.name
        and query.get("status", check.status) == check.status
    ]
    if query.get("filter", "latest") == "latest":
        found = list({(check.app, check.name): check for check in found}.values())
    found.sort(key=lambda check: check.id, reverse=True)
    return listing([call.shapes.check(call.repository, check) for check in found], "check_runs")


# --- statuses ------------------------------------------------------------------------


@routes("POST", "/{repo}/statuses/{sha}", "statuses:write")
def create_status(call: Call) -> Answer:
    sha = call.commit(call.parts["sha"])
    state = call.choice("state", STATES)
    if state is None:
        raise missing("state")
    status = Status(
        id=call.next_id(),
        sha=sha,
        state=state,
        context=call.text("context", resource="Status") or "default",
        description=call.text("description", resource="Status", longest=DESCRIPTION),
        target_url=call.text("target_url", resource="Status"),
        user=call.who.login,
        created=call.now,
    )
    call.repository.put_status(status)
    return Answer(201, call.shapes.status(call.repository, status))


def statuses_of(call: Call) -> list[Status]:
    """Return the statuses of the commit of the path, the newest first."""
    sha = call.commit(call.parts["sha"])
    found = [each for each in call.repository.statuses.all(call.until) if each.sha == sha]
    return found[::-1]


@routes("GET", "/{repo}/statuses/{sha}", "statuses:read")
@routes("GET", "/{repo}/commits/{sha}/statuses", "statuses:read")
def list_statuses(call: Call) -> Answer:
    return listing([call.shapes.status(call.repository, each) for each in statuses_of(call)])


@routes("GET", "/{repo}/commits/{sha}/status", "statuses:read")
def combined_status(call: Call) -> Answer:
    newest: dict[str, Status] = {}
    for status in statuses_of(call):
        newest.setdefault(status.context, status)
    states = {status.state for status in newest.values()}
    url = f"{call.shapes.url(call.repository)}/commits/{call.parts['sha']}"
    if states & {"error", "failure"}:
        state = "failure"
    else:
        state = "success" if states == {"success"} else "pending"
    return Answer(
        200,
        {
            "state": state,
            "statuses": [call.shapes.status(call.repository, each) for each in newest.values()],
            "sha": call.parts["sha"],
            "total_count": len(newest),
            "repository": call.shapes.repository(call.repository),
            "commit_url": url,
            "url": f"{url}/status",
        },
    )
