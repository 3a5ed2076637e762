"""A request, its answer, and the table of routes that the modules of the fake fill."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from tests.fakes.github.repository import Ledger, Repository
from tests.fakes.github.shapes import Shapes
from tests.fakes.github.things import Account, Issue

DOCUMENTATION = "https://docs.github.com/rest"

Level = Literal["read", "write"]


@dataclass(frozen=True)
class Asked:
    """A request as it came; ``who`` is the login that its token is of, "" for none.

    ``status`` is what it was answered with, 0 for a cut connection; ``done`` says whether what it
    asked for was done.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any
    who: str = ""
    status: int = 0
    done: bool = False

    @property
    def writes(self) -> bool:
        """Whether it asks for a change."""
        return self.method != "GET"


@dataclass(frozen=True)
class Answer:
    """What is answered; ``pages`` says that ``body`` is a listing to be cut into pages.

    A listing below a name, as ``{"total_count": 1, "artifacts": [...]}``, has it in ``pages``.
    """

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    pages: str | None = None


def listing(values: Sequence[Any], name: str = "") -> Answer:
    """Answer a listing, which is cut into pages."""
    return Answer(200, list(values), pages=name)


class Refused(Exception):
    """An answer that is not what was asked for."""

    def __init__(self, status: int, message: str, *errors: Mapping[str, str], **more: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors
        self.headers = {name.replace("_", "-"): value for name, value in more.items()}

    @property
    def answer(self) -> Answer:
        """Return it as GitHub words it."""
        body: dict[str, Any] = {
            "message": self.message,
            "documentation_url": DOCUMENTATION,
            "status": str(self.status),
        }
        if self.errors:
            body["errors"] = list(self.errors)
        return Answer(self.status, body, self.headers)


def missing(name: str) -> Refused:
    """Refuse a request without a member that has to be there."""
    return Refused(422, f'Invalid request.\n\n"{name}" was not supplied.')


def invalid(resource: str, name: str, message: str = "", code: str = "invalid") -> Refused:
    """Refuse a request with a member that cannot be taken."""
    error = {"resource": resource, "field": name, "code": "custom" if message else code}
    return Refused(422, "Validation Failed", error | ({"message": message} if message else {}))


@dataclass
class Call:
    """A request on its way: what it asks of which repository, and how it is to be shown.

    ``until`` is the write that listings are as of, None for now.
    """

    asked: Asked
    who: Account
    parts: Mapping[str, str]
    repository: Repository
    repositories: Mapping[str, Repository]
    shapes: Shapes
    ledger: Ledger
    storage: str
    until: int | None

    @property
    def now(self) -> datetime:
        """Return the time."""
        return self.ledger.now()

    def next_id(self) -> int:
        """Return a number that nothing had before."""
        return self.ledger.next_id()

    @property
    def body(self) -> dict[str, Any]:
        """Return the body, which has to be an object."""
        if not isinstance(self.asked.body, dict):
            raise Refused(400, "Body should be a JSON object")
        return self.asked.body

    def number(self, name: str) -> int:
        """Return a part of the path that is a number."""
        return int(self.parts[name])

    def text(self, name: str, *, resource: str = "Issue", longest: int = 65_536) -> str | None:
        """Return a member of the body that is a text or not there."""
        value = self.body.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise Refused(422, f"Invalid request.\n\nFor '{name}', {value!r} is not a string.")
        if len(value) > longest:
            raise invalid(resource, name, f"{name} is too long (maximum is {longest} characters)")
        return value

    def required(self, name: str, *, resource: str = "Issue", longest: int = 65_536) -> str:
        """Return a member of the body that is a text and has to be there."""
        value = self.text(name, resource=resource, longest=longest)
        if value is None:
            raise missing(name)
        if not value.strip():
            raise invalid(resource, name, code="missing_field")
        return value

    def choice(self, name: str, choices: Sequence[str]) -> str | None:
        """Return a member of the body that is one of some words or not there."""
        value = self.body.get(name)
        if value is not None and value not in choices:
            raise Refused(
                422, f"Invalid request.\n\n{value!r} is not a possible value of {name}: {choices}"
            )
        return value

    def names(self, name: str) -> list[str]:
        """Return a member of the body that is a list of texts; none if it is not there."""
        values = self.body.get(name) or []
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            raise Refused(422, f"Invalid request.\n\nFor '{name}', only lists of strings serve.")
        return values

    # --- who may ---------------------------------------------------------------------

    def granted(self, need: str, level: Level) -> bool:
        """Return whether the token has a permission here, whatever its person may."""
        who = self.who
        if not who.login or who.only not in ("", self.repository.full_name):
            return False
        if who.permissions is None or (need, level) == ("metadata", "read"):
            return True
        return who.permissions.get(need) in {level, "write"}

    def may(self, need: str, level: Level) -> bool:
        """Return whether the token has a permission, and its person the right to use it."""
        if not self.granted(need, level):
            return False
        return self.who.app or level == "read" or self.repository.may(self.who.login, "write")

    def issue(self, number: int) -> Issue:
        """Return an issue, or refuse as it has to be: moved, gone or never there."""
        issue = self.repository.issues.get(number)
        if issue is None:
            raise Refused(404, "Not Found")
        if issue.gone:
            raise Refused(410, issue.gone)
        if issue.moved:
            raise Refused(301, "Moved Permanently", Location=f"{self.shapes.api}{issue.moved}")
        return issue

    def commit(self, sha: str) -> str:
        """Return the sha of a commit that the repository has."""
        if sha not in self.repository.commits:
            raise Refused(422, f"No commit found for SHA: {sha}")
        return sha


Handler = Callable[[Call], Answer]


class Route(NamedTuple):
    """How a request is answered, and which permission it needs: ``issues:write``.

    What starts with ``token`` needs one even where everybody may read.
    """

    method: str
    path: str
    pattern: re.Pattern[str]
    needs: str
    handler: Handler


class Routes(list[Route]):
    """The requests that are answered, filled by decorating what answers them."""

    def __call__(self, method: str, path: str, needs: str = "") -> Callable[[Handler], Handler]:
        """Answer a method and path; ``{name}`` is a part, ``{name:int}`` a number."""
        whole = path.replace("{repo}", r"(?:repos/(?P<repo>[^/]+/[^/]+)|repositories/(?P<id>\d+))")
        numbers = re.sub(r"\{(\w+):int\}", r"(?P<\1>\\d+)", whole)
        pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", numbers))

        def add(handler: Handler) -> Handler:
            self.append(Route(method, path, pattern, needs, handler))
            return handler

        return add


def parsed(body: bytes) -> Any:
    """Read the body of a request; None if there is none."""
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError:
        raise Refused(400, "Problems parsing JSON") from None
