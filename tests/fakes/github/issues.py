"""Issues, their labels, comments and events; those of pull requests, too."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from tests.fakes.github.calls import Answer, Call, Refused, Routes, invalid, listing, missing
from tests.fakes.github.shapes import moment
from tests.fakes.github.things import Comment, Event, Issue, Label

routes = Routes()

STATES = ("open", "closed")
REASONS = ("completed", "not_planned", "duplicate", "reopened")
LOCK_REASONS = ("off-topic", "too heated", "resolved", "spam")

TITLE = 256
"""Longest title, in characters."""
LABEL = 50
"""Longest name of a label, in characters."""

TIMES: dict[str, Callable[[Issue], datetime]] = {
    "created": lambda issue: issue.created,
    "updated": lambda issue: issue.updated,
}


@routes("GET", "/{repo}/issues", "issues:read")
def list_issues(call: Call) -> Answer:
    query = call.asked.query
    state = query.get("state", "open")
    wanted = {name.casefold() for name in query.get("labels", "").split(",") if name}
    found = [
        issue
        for issue in call.repository.listed(call.until)
        if state in ("all", issue.state)
        and wanted <= {name.casefold() for name in issue.labels}
        and moment(issue.updated) >= query.get("since", "")
        and query.get("creator", issue.user) == issue.user
    ]
    found = in_order(found, query.get("sort", "created"), query.get("direction", "desc"))
    return listing([call.shapes.issue(call.repository, issue) for issue in found])


def in_order(issues: list[Issue], sort: str, direction: str) -> list[Issue]:
    """Sort issues by a time; the newest first with ``desc``."""
    time = TIMES.get(sort, TIMES["created"])
    return sorted(
        issues, key=lambda issue: (time(issue), issue.number), reverse=direction == "desc"
    )


@routes("POST", "/{repo}/issues")
def create_issue(call: Call) -> Answer:
    may_comment(call)
    title = call.required("title", longest=TITLE)
    body = call.text("body")
    labels = call.names("labels")
    check_labels(labels)
    # Of those who may not label, GitHub takes the issue and drops the labels.
    issue = call.repository.open(
        call.who.login, title, body, labels if call.may("issues", "write") else ()
    )
    return Answer(201, call.shapes.issue(call.repository, issue))


@routes("GET", "/{repo}/issues/{number:int}", "issues:read")
def get_issue(call: Call) -> Answer:
    issue = call.issue(call.number("number"))
    return Answer(200, call.shapes.issue(call.repository, issue))


@routes("PATCH", "/{repo}/issues/{number:int}")
def edit_issue(call: Call) -> Answer:
    issue = call.issue(call.number("number"))
    if not may_write(call, issue) and (call.who.app or issue.user != call.who.login):
        raise forbidden(call)
    title = call.text("title", longest=TITLE)
    body = call.text("body")
    state = call.choice("state", STATES)
    reason = call.choice("state_reason", REASONS)
    repository, who = call.repository, call.who.login
    if "labels" in call.body:
        names = call.names("labels")
        check_labels(names)
        replace_labels(call, issue, names)
    issue = repository.edit(who, issue.number, title=title, body=body)
    if state == "closed":
        issue = repository.close(who, issue.number, reason or issue.reason or "completed")
    elif state == "open":
        issue = repository.reopen(who, issue.number)
    return Answer(200, call.shapes.issue(repository, issue))


def replace_labels(call: Call, issue: Issue, names: list[str]) -> Issue:
    """Let an issue have these labels and no other."""
    kept = {name.casefold() for name in names}
    gone = [name for name in issue.labels if name.casefold() not in kept]
    call.repository.unlabel(call.who.login, issue.number, *gone)
    return call.repository.label(call.who.login, issue.number, *names)


@routes("PUT", "/{repo}/issues/{number:int}/lock")
def lock_issue(call: Call) -> Answer:
    issue = writable(call)
    if call.asked.body is not None:
        call.choice("lock_reason", LOCK_REASONS)
    call.repository.lock(call.who.login, issue.number)
    return Answer(204)


@routes("DELETE", "/{repo}/issues/{number:int}/lock")
def unlock_issue(call: Call) -> Answer:
    call.repository.unlock(call.who.login, writable(call).number)
    return Answer(204)


# --- who may -------------------------------------------------------------------------


def forbidden(call: Call) -> Refused:
    """Refuse a write that the token or its person may not do."""
    if not call.who.login:
        return Refused(401, "Requires authentication")
    if call.who.app:
        return Refused(403, "Resource not accessible by integration")
    if call.who.permissions is not None:
        return Refused(403, "Resource not accessible by personal access token")
    return Refused(403, "Must have admin rights to Repository.")


def may_write(call: Call, issue: Issue | None) -> bool:
    """Return whether an issue may be changed; a pull request by either of two permissions."""
    return call.may("issues", "write") or (
        issue is not None and issue.pull is not None and call.may("pull_requests", "write")
    )


def writable(call: Call) -> Issue:
    """Return the issue of the path, if it may be changed."""
    issue = call.issue(call.number("number"))
    if not may_write(call, issue):
        raise forbidden(call)
    return issue


def may_comment(call: Call, issue: Issue | None = None) -> None:
    """Refuse those who may not open issues and comment; every person may in what they can read."""
    needed = ("issues", "pull_requests") if issue and issue.pull else ("issues",)
    if not any(call.granted(need, "write") for need in needed):
        raise forbidden(call)


# --- labels --------------------------------------------------------------------------


def check_labels(names: list[str]) -> None:
    """Refuse names that no label can have."""
    for name in names:
        if not name.strip():
            raise invalid("Label", "name", code="missing_field")
        if len(name) > LABEL:
            raise invalid("Label", "name", f"name is too long (maximum is {LABEL} characters)")


def labels_of(call: Call, issue: Issue) -> Answer:
    """Answer the labels of an issue."""
    found = (call.repository.find_label(name) for name in issue.labels)
    return Answer(200, [call.shapes.label(call.repository, label) for label in found if label])


def wanted_labels(call: Call) -> list[str]:
    """Return the labels of a body: a list of names or of objects, or an object with one."""
    said: Any = call.asked.body
    if isinstance(said, dict):
        said = said.get("labels", [])
    if not isinstance(said, list):
        raise Refused(422, "Invalid request.\n\nlabels is not a list")
    each_name = [each.get("name") if isinstance(each, dict) else each for each in said]
    names = [name for name in each_name if isinstance(name, str)]
    if names != each_name:
        raise Refused(422, "Invalid request.\n\na label is not a string")
    check_labels(names)
    return names


@routes("GET", "/{repo}/issues/{number:int}/labels", "issues:read")
def list_labels_of_issue(call: Call) -> Answer:
    answer = labels_of(call, call.issue(call.number("number")))
    return listing(answer.body)


@routes("POST", "/{repo}/issues/{number:int}/labels")
def add_labels(call: Call) -> Answer:
    issue = writable(call)
    names = wanted_labels(call)
    return labels_of(call, call.repository.label(call.who.login, issue.number, *names))


@routes("PUT", "/{repo}/issues/{number:int}/labels")
def set_labels(call: Call) -> Answer:
    issue = writable(call)
    return labels_of(call, replace_labels(call, issue, wanted_labels(call)))


@routes("DELETE", "/{repo}/issues/{number:int}/labels/{name}")
def remove_label(call: Call) -> Answer:
    issue = writable(call)
    label = call.repository.find_label(call.parts["name"])
    if label is None or label.name not in issue.labels:
        raise Refused(404, "Label does not exist")
    return labels_of(call, call.repository.unlabel(call.who.login, issue.number, label.name))


@routes("GET", "/{repo}/labels", "issues:read")
def list_labels(call: Call) -> Answer:
    found = call.repository.labels.all(call.until)
    return listing([call.shapes.label(call.repository, label) for label in found])


@routes("GET", "/{repo}/labels/{name}", "issues:read")
def get_label(call: Call) -> Answer:
    return Answer(200, call.shapes.label(call.repository, label_of(call, call.until)))


def label_of(call: Call, until: int | None = None) -> Label:
    """Return the label of the path, as it was after a write."""
    name = call.parts["name"].casefold()
    for label in call.repository.labels.all(until):
        if label.name.casefold() == name:
            return label
    raise Refused(404, "Not Found")


@routes("POST", "/{repo}/labels", "issues:write")
def create_label(call: Call) -> Answer:
    name = call.required("name", resource="Label")
    check_labels([name])
    color = (call.text("color", resource="Label") or "ededed").lower()
    check_color(color)
    if call.repository.find_label(name) is not None:
        raise invalid("Label", "name", code="already_exists")
    label = call.repository.add_label(name, color, call.text("description", longest=100))
    return Answer(201, call.shapes.label(call.repository, label))


@routes("PATCH", "/{repo}/labels/{name}", "issues:write")
def edit_label(call: Call) -> Answer:
    label = label_of(call)
    wanted = {
        "name": call.text("new_name", resource="Label"),
        "color": call.text("color", resource="Label"),
        "description": call.text("description", resource="Label", longest=100),
    }
    changes = {name: value for name, value in wanted.items() if value is not None}
    check_labels([changes.get("name", label.name)])
    check_color(changes.get("color", label.color))
    changed = call.repository.change_label(label.name, **changes)
    return Answer(200, call.shapes.label(call.repository, changed))


def check_color(color: str) -> None:
    """Refuse what is not six hexadecimal digits."""
    if len(color) != 6 or set(color.lower()) - set("0123456789abcdef"):
        raise invalid("Label", "color")


@routes("DELETE", "/{repo}/labels/{name}", "issues:write")
def delete_label(call: Call) -> Answer:
    call.repository.delete_label(label_of(call).name)
    return Answer(204)


# --- comments ------------------------------------------------------------------------


@routes("GET", "/{repo}/issues/{number:int}/comments", "issues:read")
def list_comments(call: Call) -> Answer:
    issue = call.issue(call.number("number"))
    return _comments(call, call.repository.comments_of(issue.number, call.until))


@routes("GET", "/{repo}/issues/comments", "issues:read")
def list_all_comments(call: Call) -> Answer:
    return _comments(call, call.repository.all_comments(call.until))


def _comments(call: Call, comments: list[Comment]) -> Answer:
    since = call.asked.query.get("since", "")
    return listing(
        [
            call.shapes.comment(call.repository, comment)
            for comment in comments
            if moment(comment.updated) >= since
        ]
    )


@routes("POST", "/{repo}/issues/{number:int}/comments")
def create_comment(call: Call) -> Answer:
    issue = call.issue(call.number("number"))
    may_comment(call, issue)
    if issue.locked and not may_write(call, issue):
        raise Refused(403, "Unable to create comment because issue is locked.")
    body = call.required("body", resource="IssueComment")
    comment = call.repository.comment(call.who.login, issue.number, body)
    return Answer(201, call.shapes.comment(call.repository, comment))


def comment_of(call: Call) -> Comment:
    """Return the comment of the path."""
    comment = call.repository.find_comment(call.number("comment"))
    if comment is None or call.repository.issue(comment.number).gone:
        raise Refused(404, "Not Found")
    return comment


def own_comment(call: Call) -> Comment:
    """Return the comment of the path, if it may be changed."""
    comment = comment_of(call)
    issue = call.issue(comment.number)
    if comment.user == call.who.login:
        may_comment(call, issue)
    elif not may_write(call, issue):
        raise forbidden(call)
    return comment


@routes("GET", "/{repo}/issues/comments/{comment:int}", "issues:read")
def get_comment(call: Call) -> Answer:
    return Answer(200, call.shapes.comment(call.repository, comment_of(call)))


@routes("PATCH", "/{repo}/issues/comments/{comment:int}")
def edit_comment(call: Call) -> Answer:
    comment = own_comment(call)
    changed = call.repository.edit_comment(
        comment.id, call.required("body", resource="IssueComment")
    )
    return Answer(200, call.shapes.comment(call.repository, changed))


@routes("DELETE", "/{repo}/issues/comments/{comment:int}")
def delete_comment(call: Call) -> Answer:
    call.repository.delete_comment(own_comment(call).id)
    return Answer(204)


REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")


@routes("POST", "/{repo}/issues/comments/{comment:int}/reactions")
def react(call: Call) -> Answer:
    comment = comment_of(call)
    issue = call.issue(comment.number)
    if call.who.app and not may_write(call, issue):
        raise forbidden(call)
    content = call.choice("content", REACTIONS)
    if content is None:
        raise missing("content")
    before = call.repository.reactions_of(comment.id)
    reaction = call.repository.react(call.who.login, comment.id, content)
    return Answer(200 if reaction in before else 201, call.shapes.reaction(reaction))


# --- events --------------------------------------------------------------------------


@routes("GET", "/{repo}/issues/{number:int}/events", "issues:read")
def list_events(call: Call) -> Answer:
    issue = call.issue(call.number("number"))
    events = call.repository.events_of(issue.number, call.until)
    return listing([call.shapes.event(call.repository, event) for event in events])


@routes("GET", "/{repo}/issues/events", "issues:read")
def list_all_events(call: Call) -> Answer:
    events = call.repository.all_events(call.until)
    return listing([_with_issue(call, event) for event in reversed(events)])


@routes("GET", "/{repo}/issues/events/{event:int}", "issues:read")
def get_event(call: Call) -> Answer:
    for event in call.repository.all_events():
        if event.id == call.number("event"):
            return Answer(200, _with_issue(call, event))
    raise Refused(404, "Not Found")


def _with_issue(call: Call, event: Event) -> dict[str, Any]:
    issue = call.issue(event.number)
    shown = call.shapes.event(call.repository, event)
    return shown | {"issue": call.shapes.issue(call.repository, issue)}
