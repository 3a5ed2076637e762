"""Report the result of a pull request on GitHub: a check run, and a comment if it regressed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from pipeline.notify.base.pull_request import (
    WITHOUT_RESULT,
    PullRequestOutcome,
    WaitingState,
    WaitingText,
    Words,
)
from pipeline.notify.github.client import Client
from pipeline.notify.github.event import MeasuredCommit
from pipeline.notify.github.failures import GithubRefusedError, UnknownError
from pipeline.notify.github.issue_text import ROOM, fit
from pipeline.notify.github.issue_text import title as short

SUMMARY_ROOM = 65_535
"""Maximum length of the summary of a check run on GitHub, in characters."""

DESCRIPTION_ROOM = 140
"""Maximum length of the description of a status on GitHub, in characters."""

NAME = "nightshift"
"""The name of check runs and statuses, or the beginning of their names."""

CONCLUSIONS = {
    PullRequestOutcome.PASSED: "success",
    PullRequestOutcome.REGRESSION: "failure",
    PullRequestOutcome.UNDECIDED: "neutral",
    PullRequestOutcome.COULD_NOT_BUILD: "action_required",
    PullRequestOutcome.COULD_NOT_RUN: "action_required",
    PullRequestOutcome.NOT_MEASURED: "neutral",
}
"""The conclusion of a check run by outcome. A required check whose conclusion is neutral passes on
GitHub, so a failure that the pull request did not cause does not block it."""

STATES = {
    PullRequestOutcome.PASSED: "success",
    PullRequestOutcome.REGRESSION: "failure",
    PullRequestOutcome.UNDECIDED: "pending",
    PullRequestOutcome.COULD_NOT_BUILD: "error",
    PullRequestOutcome.COULD_NOT_RUN: "error",
    PullRequestOutcome.NOT_MEASURED: "pending",
}
"""The state of a commit status, by outcome; undecided and not measured are pending."""

ATTEMPTS = 3
"""Maximum number of attempts at a write whose success is unknown; before each retry, nightshift
checks whether it succeeded. A second check run with the same name hides the first; a second comment
is deleted."""

_BEFORE = {
    PullRequestOutcome.REGRESSION: "",
    PullRequestOutcome.PASSED: "The slowdown of an earlier commit is **gone**.",
    PullRequestOutcome.UNDECIDED: (
        "An earlier commit was slower; whether this one is, too, is **not known**."
    ),
} | dict.fromkeys(
    WITHOUT_RESULT, "An earlier commit was slower; whether this one is, too, is **not known**."
)
"""First line, by outcome, of the new text of a comment that reported a regression before."""


class Way(StrEnum):
    """How a result is shown on a commit: a check run, or a status for personal tokens."""

    CHECK = "check"
    STATUS = "status"


_MARKER = "<!-- nightshift pull-request "

ACCEPTED = "Slowdown accepted by "
"""The beginning of the title of a check run whose regression a maintainer accepted."""


class PullRequestTopic(NamedTuple):
    """What a result is about: repository, target and machine class."""

    repository: str
    measurement: MeasuredCommit
    target: str
    machine_class: str

    @property
    def name(self) -> str:
        """The name of the check run on GitHub."""
        on = f" on {self.machine_class}" if self.machine_class else ""
        unknown = "branch" if self.measurement.pushed else "pull request"
        return f"{NAME} / {self.target or unknown}{on}"

    @property
    def key(self) -> str:
        """The key of the check run, the same for a repeated report."""
        found = self.measurement
        return f"{NAME} {found.run or found.sha} {self.target} {self.machine_class}".rstrip()

    @property
    def waiting_keys(self) -> frozenset[str]:
        """The keys of the check run while the measurement waits and its class is still unknown."""
        found = self.measurement
        less = (self, *self._less_known())
        keys = {each.key for each in less}
        # A run whose id was not known when it was started.
        started = (each._replace(measurement=found.model_copy(update={"run": ""})) for each in less)
        return frozenset(keys | {each.key for each in started})

    def covers(self, name: str) -> bool:
        """Whether a check run with this name is about this topic, or a more specific one."""
        if self.machine_class:
            return name == self.name
        prefix = f"{NAME} / {self.target} on " if self.target else f"{NAME} / "
        return name == self.name or name.startswith(prefix)

    def _less_known(self) -> tuple[PullRequestTopic, ...]:
        return self._replace(target="", machine_class=""), self._replace(machine_class="")

    @property
    def provisional_names(self) -> frozenset[str]:
        """The names of the check run before target and class were known."""
        return frozenset(each.name for each in self._less_known()) - {self.name}

    @property
    def marker(self) -> str:
        """The hidden marker of the comment on the pull request."""
        return f"{_MARKER}{self.target} {self.machine_class} -->"

    def is_of(self, body: str) -> bool:
        """Whether a comment with this text is about the same topic.

        A measurement without a result has no machine class, and may have no target. It counts as a
        measurement of all classes (or targets), because what older comments say about them may no
        longer be true.
        """
        if self.machine_class:
            return body.startswith(self.marker)
        return body.startswith(f"{_MARKER}{self.target} " if self.target else _MARKER)

    @property
    def path(self) -> str:
        """The path of the repository in GitHub's API."""
        return f"/repos/{self.repository}"


class Shown(NamedTuple):
    """Where a result is shown: the addresses of the check run or status, and of the comment."""

    page: str
    comment: str = ""


def publish(client: Client, subject: PullRequestTopic, words: Words, way: Way = Way.CHECK) -> Shown:
    """Report a result on a pull request; repeating it changes nothing.

    Raises UnavailableError if GitHub does not accept it, and UserError if the token lacks the
    permission.
    """
    mark = _mark_check if way is Way.CHECK else _mark_status
    page, author, accepted = mark(client, subject, words)
    found = subject.measurement
    comment = ""
    if found.current and found.number is not None and not accepted:
        # A locked conversation accepts no comment; the check run remains.
        with suppress(GithubRefusedError):
            comment = _comment(client, subject, words, author, page)
    return Shown(page, comment)


# --- check runs ----------------------------------------------------------------------


def is_accepted(check: Mapping[str, Any]) -> bool:
    """Whether a maintainer accepted the regression that a check run shows."""
    return str(check["output"]["title"] or "").startswith(ACCEPTED)


class _Marked(NamedTuple):
    """The check run or status: its page, our account, and whether the regression is accepted."""

    page: str
    author: str
    accepted: bool = False


def _mark_check(client: Client, subject: PullRequestTopic, words: Words) -> _Marked:
    """Create or update the check run, unless it shows an accepted regression."""
    found = subject.measurement
    payload: dict[str, Any] = {
        "name": subject.name,
        "external_id": subject.key,
        "status": "completed",
        "conclusion": CONCLUSIONS[words.outcome],
        "output": {"title": short(words.title), "summary": fit(words.body, SUMMARY_ROOM)},
    }
    if found.page:
        payload["details_url"] = found.page

    def present() -> Any:
        ours = _our_checks(client, subject)
        # Another attempt at the run has a check run that waits, beside that of the first attempt.
        waiting = [
            each
            for each in ours
            if each["status"] != "completed" and each["external_id"] in subject.waiting_keys
        ]
        # The same app may have written our words for somebody else.
        same = [each for each in ours if each["external_id"] == subject.key]
        # The check run of a failed measurement would otherwise remain beside that of its successful
        # repetition.
        before = [each for each in ours if each["name"] in subject.provisional_names]
        return next(iter(waiting + same + before), None)

    check = present()
    accepted = (
        check is not None
        and words.outcome is PullRequestOutcome.REGRESSION
        and is_accepted(check)
        and check["external_id"] == subject.key
    )
    if check is None:
        whole = _with_annotations(
            {"head_sha": found.sha, **payload}, _annotations(client, subject, words)
        )
        check = made(lambda: client.write("POST", f"{subject.path}/check-runs", whole), present)
    elif not accepted and _differs(check, payload):
        place = f"{subject.path}/check-runs/{check['id']}"
        annotated = {
            (each["title"], each["message"]) for each in client.read_all(f"{place}/annotations")
        }
        # GitHub appends sent annotations to existing ones.
        new = [
            each
            for each in _annotations(client, subject, words)
            if (each["title"], each["message"]) not in annotated
        ]
        check = made(
            lambda: client.write("PATCH", place, _with_annotations(payload, new)),
            lambda: found if (found := present()) and not _differs(found, payload) else None,
        )
    _hide_provisional(client, subject, int(check["id"]))
    return _Marked(str(check["html_url"]), f"{check['app']['slug']}[bot]", accepted)


def _hide_provisional(client: Client, subject: PullRequestTopic, number: int) -> None:
    """Rename our earlier check runs to this one's name: GitHub shows only the newest of a name.

    These check runs are left from a measurement that was cancelled, or that failed before its
    machine class was known.
    """
    for each in _our_checks(client, subject):
        if each["name"] in subject.provisional_names and int(each["id"]) < number:
            place = f"{subject.path}/check-runs/{each['id']}"
            client.write("PATCH", place, {"name": subject.name})


def _differs(check: Mapping[str, Any], payload: Mapping[str, Any]) -> bool:
    output = {part: check["output"][part] for part in ("title", "summary")}
    names = ("name", "status", "conclusion")
    return output != payload["output"] or any(check[name] != payload[name] for name in names)


def _with_annotations(payload: Mapping[str, Any], notes: list[dict[str, Any]]) -> dict[str, Any]:
    output = {**payload["output"], **({"annotations": notes} if notes else {})}
    return {**payload, "output": output}


def _annotations(client: Client, subject: PullRequestTopic, words: Words) -> list[dict[str, Any]]:
    """Return annotations about the changed metrics, at the first file of the pull request."""
    if not words.notes:
        return []
    found = subject.measurement
    place = found.workflow
    if found.current:
        files = client.read(f"{subject.path}/pulls/{found.number}/files", per_page=1)
        place = files[0]["filename"] if files else place
    return [
        {
            "path": place or ".github",
            "start_line": 1,
            "end_line": 1,
            "annotation_level": "failure" if note.regression else "notice",
            "title": note.title,
            "message": note.message,
        }
        for note in words.notes
    ]


def announce(
    client: Client, subject: PullRequestTopic, waiting: WaitingText, state: WaitingState
) -> str:
    """Show in a check run that a measurement waits or runs; return its page. Idempotent.

    The check run has the name of an earlier measurement of the same commit, whose verdict it
    replaces. :func:`publish` completes it.
    """
    found = subject.measurement
    ours = _of_this_target(client, subject)
    unfinished = next((each for each in ours if each["status"] != "completed"), None)
    names = {str(each["name"]) for each in ours if subject.covers(str(each["name"]))}
    payload: dict[str, Any] = {
        "name": names.pop() if len(names) == 1 else subject.name,
        "external_id": subject.key,
        "status": state.value,
        "output": {"title": waiting.title, "summary": waiting.body},
    }
    if found.page:
        payload["details_url"] = found.page
    if unfinished is None:
        whole = {"head_sha": found.sha, **payload}
        check = made(
            lambda: client.write("POST", f"{subject.path}/check-runs", whole),
            lambda: _first(
                [each for each in _of_this_target(client, subject) if each["status"] != "completed"]
            ),
        )
        return str(check["html_url"])
    payload["name"] = unfinished["name"]
    if unfinished["external_id"] != subject.key or _differs(
        unfinished, {**payload, "conclusion": None}
    ):
        place = f"{subject.path}/check-runs/{unfinished['id']}"
        made(lambda: client.write("PATCH", place, payload))
    return str(unfinished["html_url"])


def is_superseded(client: Client, subject: PullRequestTopic) -> bool:
    """Whether a newer measurement has replaced this cancelled one.

    The check run then belongs to the newer measurement. Another check run for the cancelled one
    would hide it.
    """
    ours = _of_this_target(client, subject)
    own = any(each["external_id"] in subject.waiting_keys for each in ours)
    return bool(ours) and not own


def _of_this_target(client: Client, subject: PullRequestTopic) -> list[Any]:
    """Return nightshift's check runs on the commit for the target, the newest first."""
    return [
        each
        for each in _our_checks(client, subject)
        if subject.covers(str(each["name"])) or each["name"] in subject.provisional_names
    ]


def _our_checks(client: Client, subject: PullRequestTopic) -> list[Any]:
    """Return nightshift's check runs on the commit, the newest first."""
    place = f"{subject.path}/commits/{subject.measurement.sha}/check-runs"
    listed = client.read_all(place, "check_runs", filter="all")
    ours = [each for each in listed if str(each["external_id"]).startswith(f"{NAME} ")]
    return sorted(ours, key=lambda each: -int(each["id"]))


# --- statuses ------------------------------------------------------------------------


def _mark_status(client: Client, subject: PullRequestTopic, words: Words) -> _Marked:
    """Set the status of a commit, unless it is set already."""
    found = subject.measurement
    title = words.title
    if len(title) > DESCRIPTION_ROOM:
        title = f"{title[: DESCRIPTION_ROOM - 1]}…"
    payload = {"state": STATES[words.outcome], "context": subject.name, "description": title}
    if found.page:
        payload["target_url"] = found.page

    def present() -> Any:
        listed = client.read_all(f"{subject.path}/commits/{found.sha}/statuses")
        # The newest status comes first and is the effective one.
        newest = next((each for each in listed if each["context"] == subject.name), None)
        same = newest is not None and all(newest[name] == payload[name] for name in payload)
        return newest if same else None

    status = present() or made(
        lambda: client.write("POST", f"{subject.path}/statuses/{found.sha}", payload), present
    )
    return _Marked(found.page, str(status["creator"]["login"]))


# --- the comment ---------------------------------------------------------------------


def _comment(
    client: Client, subject: PullRequestTopic, words: Words, author: str, page: str
) -> str:
    """Comment on the pull request if it regressed, and update an existing comment."""
    listing = f"{subject.path}/issues/{subject.measurement.number}/comments"

    def ours() -> list[Any]:
        return [
            each
            for each in client.read_all(listing)
            if (each["user"] or {}).get("login") == author and subject.is_of(each["body"] or "")
        ]

    present = ours()
    if not present and words.outcome is not PullRequestOutcome.REGRESSION:
        return ""
    before = _BEFORE[words.outcome]
    details = f"[details](<{page}>)" if page else "details in the job"
    parts = [before, words.body, f"{subject.name}, {subject.measurement.sha}: {details}"]
    text = "\n\n".join(part for part in parts if part)

    def under(marker: str) -> str:
        return f"{marker}\n{fit(text, ROOM - len(marker) - 1)}"

    if not present:
        body = under(subject.marker)
        created = made(
            lambda: client.write("POST", listing, {"body": body}), lambda: _first(ours())
        )
        return str(created["html_url"])
    place = f"{subject.path}/issues/comments"
    seen: set[str] = set()
    for comment in present:
        marker = comment["body"].partition("\n")[0]
        if marker in seen:
            client.write("DELETE", f"{place}/{comment['id']}", {})
        elif comment["body"] != (body := under(marker)):
            change = partial(client.write, "PATCH", f"{place}/{comment['id']}", {"body": body})
            made(change)
        seen.add(marker)
    return str(present[0]["html_url"])


def _first(found: list[Any]) -> Any:
    return found[0] if found else None


def made(make: Callable[[], Any], present: Callable[[], Any] = lambda: None) -> Any:
    """Create something on GitHub; before a retry, check whether it exists."""
    for _ in range(ATTEMPTS - 1):
        try:
            return make()
        except UnknownError:
            if (found := present()) is not None:
                return found
    return make()
