"""Telling a pull request what was measured: a check run always, a comment only for news."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from pipeline.notify.base.pull_request import Outcome, Words
from pipeline.notify.github.client import Client
from pipeline.notify.github.event import Measurement
from pipeline.notify.github.failures import RefusedError, UnknownError
from pipeline.notify.github.text import ROOM, fit
from pipeline.notify.github.text import title as short

SUMMARY_ROOM = 65_535
"""Characters that GitHub takes of the summary of a check run."""

DESCRIPTION_ROOM = 140
"""Characters that GitHub takes of the description of a status."""

NAME = "nightshift"
"""What checks and statuses are called, or how that begins."""

CONCLUSIONS = {
    Outcome.PASSED: "success",
    Outcome.REGRESSION: "failure",
    Outcome.UNDECIDED: "neutral",
    Outcome.COULD_NOT_RUN: "action_required",
}
"""How a check run ends. No two outcomes look alike."""

STATES = {
    Outcome.PASSED: "success",
    Outcome.REGRESSION: "failure",
    Outcome.UNDECIDED: "pending",
    Outcome.COULD_NOT_RUN: "error",
}
"""The same of the four states that a status has: what is open is not done."""

ATTEMPTS = 3
"""How often something is sent of which it is not known whether it arrived, looked for in between.
A second check run of one name hides the first; of two comments the second is taken away."""

_BEFORE = {
    Outcome.REGRESSION: "",
    Outcome.PASSED: "The regression that was shown here before is **gone**.",
    Outcome.UNDECIDED: "A regression was shown here before; whether it is gone is **open**.",
    Outcome.COULD_NOT_RUN: "A regression was shown here before; whether it is gone is **unknown**.",
}
"""What a comment says first, which is there because a regression was shown once."""


class Way(StrEnum):
    """How a commit is marked: by a check run, or by the older status, for personal tokens."""

    CHECK = "check"
    STATUS = "status"


class Subject(NamedTuple):
    """What is told about: a measurement of a repository's, of one target on one machine class."""

    repository: str
    measurement: Measurement
    target: str
    machine_class: str

    @property
    def name(self) -> str:
        """What its check run is called."""
        on = f" on {self.machine_class}" if self.machine_class else ""
        return f"{NAME} / {self.target or 'pull request'}{on}"

    @property
    def key(self) -> str:
        """By which the check run of the same run is found again."""
        found = self.measurement
        return f"{NAME} {found.run or found.sha} {self.target} {self.machine_class}".rstrip()

    @property
    def unanswered(self) -> frozenset[str]:
        """What its check run is called where no answer said of which target or class it is."""
        less = (self._replace(target="", machine_class=""), self._replace(machine_class=""))
        return frozenset(each.name for each in less) - {self.name}

    @property
    def marker(self) -> str:
        """By which its comment is found again."""
        return f"<!-- nightshift pull-request {self.target} {self.machine_class} -->"

    @property
    def path(self) -> str:
        """Where its repository is in the API."""
        return f"/repos/{self.repository}"


class Shown(NamedTuple):
    """What was told: where the check run or status is, and the comment, if there is one."""

    page: str
    comment: str = ""


def publish(client: Client, subject: Subject, words: Words, way: Way = Way.CHECK) -> Shown:
    """Tell a pull request what came of it. The same again changes nothing.

    Raises UnavailableError where GitHub does not take it, and UserError where the token may not.
    """
    mark = _mark_check if way is Way.CHECK else _mark_status
    page, author = mark(client, subject, words)
    found = subject.measurement
    comment = ""
    if found.current and found.number is not None:
        # In a locked conversation nothing can be said; what is above stands.
        with suppress(RefusedError):
            comment = _comment(client, subject, words, author, page)
    return Shown(page, comment)


# --- check runs ----------------------------------------------------------------------


def _mark_check(client: Client, subject: Subject, words: Words) -> tuple[str, str]:
    """Make or change the check run; return its page and who we are."""
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
        place = f"{subject.path}/commits/{found.sha}/check-runs"
        listed = list(client.read_all(place, "check_runs", filter="all"))
        # The same app may have been asked by somebody else to use our words.
        same = [each for each in listed if each["external_id"] == subject.key]
        # What could not run, and was run again, would be there for good beside its answer.
        before = [
            each
            for each in listed
            if each["name"] in subject.unanswered
            and str(each["external_id"]).startswith(f"{NAME} ")
        ]
        return next(iter(same + before), None)

    check = present()
    if check is None:
        whole = _with_annotations(
            {"head_sha": found.sha, **payload}, _annotations(client, subject, words)
        )
        check = _made(lambda: client.write("POST", f"{subject.path}/check-runs", whole), present)
    elif _differs(check, payload):
        place = f"{subject.path}/check-runs/{check['id']}"
        told = {
            (each["title"], each["message"]) for each in client.read_all(f"{place}/annotations")
        }
        # GitHub adds what is sent to what is there.
        new = [
            each
            for each in _annotations(client, subject, words)
            if (each["title"], each["message"]) not in told
        ]
        check = _made(
            lambda: client.write("PATCH", place, _with_annotations(payload, new)),
            lambda: found if (found := present()) and not _differs(found, payload) else None,
        )
    return str(check["html_url"]), f"{check['app']['slug']}[bot]"


def _differs(check: Mapping[str, Any], payload: Mapping[str, Any]) -> bool:
    output = {part: check["output"][part] for part in ("title", "summary")}
    names = ("name", "status", "conclusion")
    return output != payload["output"] or any(check[name] != payload[name] for name in names)


def _with_annotations(payload: Mapping[str, Any], notes: list[dict[str, Any]]) -> dict[str, Any]:
    output = {**payload["output"], **({"annotations": notes} if notes else {})}
    return {**payload, "output": output}


def _annotations(client: Client, subject: Subject, words: Words) -> list[dict[str, Any]]:
    """Return the figures that changed, on the first file that the pull request changes."""
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


# --- statuses ------------------------------------------------------------------------


def _mark_status(client: Client, subject: Subject, words: Words) -> tuple[str, str]:
    """Set the status, if it is not so already; return its page and who we are."""
    found = subject.measurement
    title = words.title
    if len(title) > DESCRIPTION_ROOM:
        title = f"{title[: DESCRIPTION_ROOM - 1]}…"
    payload = {"state": STATES[words.outcome], "context": subject.name, "description": title}
    if found.page:
        payload["target_url"] = found.page

    def present() -> Any:
        listed = client.read_all(f"{subject.path}/commits/{found.sha}/statuses")
        # The newest comes first, and is the one that counts.
        newest = next((each for each in listed if each["context"] == subject.name), None)
        same = newest is not None and all(newest[name] == payload[name] for name in payload)
        return newest if same else None

    status = present() or _made(
        lambda: client.write("POST", f"{subject.path}/statuses/{found.sha}", payload), present
    )
    return found.page, str(status["creator"]["login"])


# --- the comment ---------------------------------------------------------------------


def _comment(client: Client, subject: Subject, words: Words, author: str, page: str) -> str:
    """Make the comment if a regression was shown, bring it up to date if it is there."""
    listing = f"{subject.path}/issues/{subject.measurement.number}/comments"

    def ours() -> list[Any]:
        return [
            each
            for each in client.read_all(listing)
            if (each["user"] or {}).get("login") == author
            and (each["body"] or "").startswith(subject.marker)
        ]

    present = ours()
    if not present and words.outcome is not Outcome.REGRESSION:
        return ""
    before = _BEFORE[words.outcome]
    details = f"[details](<{page}>)" if page else "details in the job"
    parts = [before, words.body, f"{subject.name}, {subject.measurement.sha}: {details}"]
    text = "\n\n".join(part for part in parts if part)
    body = f"{subject.marker}\n{fit(text, ROOM - len(subject.marker) - 1)}"
    if not present:
        made = _made(lambda: client.write("POST", listing, {"body": body}), lambda: _first(ours()))
        return str(made["html_url"])
    first, *others = present
    place = f"{subject.path}/issues/comments"
    if first["body"] != body:
        change = partial(client.write, "PATCH", f"{place}/{first['id']}", {"body": body})
        _made(change, lambda: None)
    for other in others:
        client.write("DELETE", f"{place}/{other['id']}", {})
    return str(first["html_url"])


def _first(found: list[Any]) -> Any:
    return found[0] if found else None


def _made(make: Callable[[], Any], present: Callable[[], Any]) -> Any:
    """Make something; if it is not known whether that was done, look before it is tried again."""
    for _ in range(ATTEMPTS - 1):
        try:
            return make()
        except UnknownError:
            if (found := present()) is not None:
                return found
    return make()
