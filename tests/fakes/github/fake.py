"""The fake: its state, who may ask it, what goes wrong, and how a request is answered."""

from __future__ import annotations

import json
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from tests.fakes.github import actions, issues, pulls, repositories, settings
from tests.fakes.github.calls import Answer, Asked, Call, Refused, parsed
from tests.fakes.github.faults import Fault
from tests.fakes.github.issues import forbidden
from tests.fakes.github.repository import Repository
from tests.fakes.github.shapes import JSON, Shapes
from tests.fakes.github.things import Account

ROUTES = (
    *repositories.routes,
    *issues.routes,
    *pulls.routes,
    *actions.routes,
    *settings.routes,
)

LIMIT = 5000
"""Requests an hour that the headers speak of. They are not counted out: a fault says when."""

PAGE, LARGEST_PAGE = 30, 100
"""Entries of a page of a listing: unless asked otherwise, and at most."""


@dataclass(frozen=True)
class Sent:
    """What goes back over the wire."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class FakeGithub:
    """GitHub's REST API as far as nightshift speaks it, with everything in memory.

    ``repository`` and ``account`` set it up; what people do is done on a repository, as
    ``fake.repository("acme/db").comment("alice", 3, "seen")``. Every request is in ``asked``.

    What goes wrong is chosen by the test: ``faults`` are used up in order, a request each (None
    lets one pass); while there are none, ``fault`` is asked for each request. ``behind`` says for
    a GET how far its listing is behind: by a number of writes, or by a time. What is read by its
    number is always as it is now.

    ``clock`` is what it takes for the time. ``base`` is where the addresses in answers begin.
    """

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.repositories: dict[str, Repository] = {}
        self.accounts: dict[str, Account] = {}
        self.asked: list[Asked] = []
        self.faults: list[Fault | None] = []
        self.fault: Callable[[Asked], Fault | None] = lambda asked: None
        self.behind: Callable[[Asked], int | timedelta] = lambda asked: 0
        self.clock = clock
        self.base = "https://api.github.test"
        self.storage = "https://storage.github.test"
        self._ids = 1000
        self._writes: list[datetime] = []
        self._writing = False
        self._lock = threading.RLock()

    # --- setting it up ---------------------------------------------------------------

    def repository(self, full_name: str, *, fork_of: str = "", private: bool = False) -> Repository:
        """Return the repository ``owner/name``; it is made if it is not there."""
        with self._lock:
            if full_name not in self.repositories:
                made = Repository(self, full_name, fork_of=fork_of)
                made.access.private = private
                self.repositories[full_name] = made
            return self.repositories[full_name]

    def account(
        self,
        token: str,
        login: str,
        permissions: Mapping[str, str] | None = None,
        *,
        only: str = "",
    ) -> Account:
        """Let a token be known: of a person, or of an app if the login ends with ``[bot]``.

        Without ``permissions`` it may whatever its person may, or its app could.
        """
        app = login.endswith("[bot]")
        if app and permissions is None:
            names = ("actions", "administration", "checks", "contents", "issues", "statuses")
            permissions = dict.fromkeys((*names, "pull_requests"), "write")
        self.accounts[token] = Account(login, app, permissions, only)
        return self.accounts[token]

    # --- what repositories ask of it -------------------------------------------------

    def next_id(self) -> int:
        """Return a number that nothing had before."""
        self._ids += 1
        return self._ids

    def now(self) -> datetime:
        """Return the time by ``clock``."""
        return self.clock()

    def write(self) -> int:
        """Return the number of a new write; all that one request does is one."""
        if not self._writing:
            self._writes.append(self.now())
        return len(self._writes)

    @contextmanager
    def _one_write(self) -> Iterator[None]:
        self._writes.append(self.now())
        self._writing = True
        try:
            yield
        finally:
            self._writing = False

    def _until(self, asked: Asked) -> int | None:
        behind = self.behind(asked)
        if not behind:
            return None
        if isinstance(behind, timedelta):
            return bisect_right(self._writes, self.now() - behind)
        return max(0, len(self._writes) - behind)

    # --- requests --------------------------------------------------------------------

    def handle(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[Sent | None, float]:
        """Answer a request: what is sent, None for a cut connection, and after how many seconds.

        ``headers`` are those of the request with names in lower case.
        """
        with self._lock:
            try:
                asked, who = self._read(method, target, headers, body)
            except Refused as refused:
                return self._sent(refused.answer), 0.0
            fault = self.faults.pop(0) if self.faults else self.fault(asked)
            answer, done = None, False
            if fault is None or fault.done or fault.answers:
                answer, done = self._answer(asked, who)
            if fault is None or fault.answers:
                sent = self._sent(answer, asked)
            elif fault.status:
                words = Refused(fault.status, fault.message).answer
                sent = self._sent(words, headers=fault.headers)
            else:
                sent = None
            self.asked.append(replace(asked, status=sent.status if sent else 0, done=done))
            return sent, fault.seconds if fault else 0.0

    def _read(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[Asked, Account]:
        address = urlsplit(target)
        token = headers.get("authorization", "").partition(" ")[2]
        who = self.accounts.get(token, Account())
        shown = {name: value for name, value in headers.items() if name != "authorization"}
        query = dict(parse_qsl(address.query, keep_blank_values=True))
        asked = Asked(method, address.path, query, shown, None, who.login)
        try:
            asked = replace(asked, body=parsed(body))
            if "user-agent" not in headers:
                raise Refused(403, "Request forbidden by administrative rules: no User-Agent")
            if token and token not in self.accounts:
                raise Refused(401, "Bad credentials")
        except Refused as refused:
            self.asked.append(replace(asked, status=refused.status))
            raise
        return asked, who

    def _answer(self, asked: Asked, who: Account) -> tuple[Answer, bool]:
        """Do what is asked, and say whether it was done."""
        try:
            if asked.writes:
                with self._one_write():
                    answer = self._routed(asked, who)
            else:
                answer = self._routed(asked, who)
        except Refused as refused:
            return refused.answer, False
        return answer, True

    def _routed(self, asked: Asked, who: Account) -> Answer:
        if asked.path in ("/user", "/rate_limit"):
            return self._about(asked, who)
        for route in ROUTES:
            found = route.pattern.fullmatch(asked.path)
            if found is None or route.method != asked.method:
                continue
            parts = {name: unquote(part) for name, part in found.groupdict().items() if part}
            call = Call(
                asked=asked,
                who=who,
                parts=parts,
                repository=self._find(parts),
                repositories=self.repositories,
                shapes=Shapes(self.base),
                ledger=self,
                storage=self.storage,
                until=self._until(asked),
            )
            _check(call, route.needs)
            answer: Answer = route.handler(call)
            return answer
        raise Refused(404, "Not Found")

    def _find(self, parts: Mapping[str, str]) -> Repository:
        for repository in self.repositories.values():
            # Names of owners and repositories are the same in upper and lower case.
            if parts.get("repo", "").casefold() == repository.full_name.casefold():
                return repository
            if parts.get("id") == str(repository.id):
                return repository
        raise Refused(404, "Not Found")

    def _about(self, asked: Asked, who: Account) -> Answer:
        if asked.path == "/rate_limit":
            rate = {"limit": LIMIT, "remaining": LIMIT, "reset": self._reset(), "used": 0}
            return Answer(200, {"resources": {"core": rate, "search": rate}, "rate": rate})
        if not who.login:
            raise Refused(401, "Requires authentication")
        if who.app:
            raise Refused(403, "Resource not accessible by integration")
        return Answer(200, Shapes(self.base).myself(who.login))

    def _reset(self) -> int:
        return int(self.now().timestamp()) + 3600

    def _sent(
        self,
        answer: Answer | None,
        asked: Asked | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Sent:
        assert answer is not None
        sent = {
            "X-GitHub-Media-Type": "github.v3; format=json",
            "X-RateLimit-Limit": str(LIMIT),
            "X-RateLimit-Remaining": str(LIMIT - 1),
            "X-RateLimit-Used": "1",
            "X-RateLimit-Reset": str(self._reset()),
            "X-RateLimit-Resource": "core",
            **answer.headers,
            **(headers or {}),
        }
        body = answer.body
        if answer.pages is not None:
            assert asked is not None
            body, links = _page(body, asked, self.base)
            if answer.pages:
                body = {"total_count": len(answer.body), answer.pages: body}
            if links:
                sent["Link"] = links
        if body is None:
            return Sent(answer.status, sent, b"")
        sent["Content-Type"] = "application/json; charset=utf-8"
        return Sent(answer.status, sent, json.dumps(body).encode())

    def download(self, path: str, headers: Mapping[str, str]) -> Sent:
        """Answer what is asked where artifacts lie; it refuses who shows it a token."""
        number = path.partition("?")[0].rpartition("/")[2]
        for repository in self.repositories.values():
            artifact = repository.artifacts.get(int(number)) if number.isdecimal() else None
            if artifact is not None and "authorization" in headers:
                return Sent(400, {"Content-Type": "text/plain"}, b"two kinds of authentication")
            if artifact is not None and "sig=signed" in path:
                return Sent(200, {"Content-Type": "application/zip"}, artifact.content)
        return Sent(404, {"Content-Type": "text/plain"}, b"not there")

    # --- what became of it -----------------------------------------------------------

    def state(self) -> JSON:
        """Return everything there is and was asked, fit for JSON; of artifacts a digest."""
        with self._lock:
            return {
                "repositories": {
                    name: _state(repository) for name, repository in self.repositories.items()
                },
                "asked": [_plain(asked) for asked in self.asked],
            }


def _check(call: Call, needs: str) -> None:
    """Refuse who may not; what a handler decides by itself needs nothing here."""
    need, _, level = needs.removeprefix("token ").partition(":")
    private = call.repository.access.private
    login = call.who.login
    if private and not (call.who.app or call.repository.may(login, "read")):
        raise Refused(404, "Not Found")
    if level == "write" and not call.may(need, "write"):
        raise forbidden(call)
    if level == "read" and (private or needs.startswith("token ")) and not call.may(need, "read"):
        raise forbidden(call)


def _page(values: list[Any], asked: Asked, base: str) -> tuple[list[Any], str]:
    """Cut a page out of a listing; return it and the addresses of its neighbours."""
    query = asked.query
    size = min(int(query.get("per_page", PAGE)), LARGEST_PAGE)
    page = int(query.get("page", 1))
    last = max(1, -(-len(values) // size))
    links: dict[str, int] = {}
    if page > 1:
        links |= {"prev": page - 1, "first": 1}
    if page < last:
        links |= {"next": page + 1, "last": last}
    shown = (
        f'<{base}{asked.path}?{urlencode({**query, "page": number})}>; rel="{name}"'
        for name, number in links.items()
    )
    return values[(page - 1) * size : page * size], ", ".join(shown)


def _state(repository: Repository) -> JSON:
    found = {
        "issues": [
            _plain(issue)
            | {
                "comments": [_plain(each) for each in repository.comments_of(issue.number)],
                "events": [_plain(each) for each in repository.events_of(issue.number)],
            }
            for issue in repository.issues.all()
        ],
        "artifacts": [
            _plain(artifact) | {"content": sha256(artifact.content).hexdigest()}
            for artifact in repository.artifacts.all()
        ],
    }
    for name in ("labels", "checks", "statuses", "reactions", "workflows", "runs", "runners"):
        found[name] = [_plain(each) for each in getattr(repository, name).all()]
    return found


def _plain(thing: Any) -> JSON:
    plain: JSON = json.loads(json.dumps(asdict(thing), default=_text))
    return plain


def _text(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    return value.isoformat() if isinstance(value, datetime) else ""
