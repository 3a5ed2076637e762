"""The API over HTTP."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.fakes.hetzner.allowance import Allowance
from tests.fakes.hetzner.catalogue import IMAGES, LOCATIONS, PRICING, SERVER_TYPES
from tests.fakes.hetzner.faults import Fault
from tests.fakes.hetzner.project import KINDS, Project, Thing
from tests.fakes.hetzner.refused import Refused
from tests.fakes.hetzner.selector import matches
from tests.fakes.loopback import Loopback

TOKEN = "h" * 64
"""What it takes: as long as a token of Hetzner's."""

_FIXED = {"locations": LOCATIONS, "images": IMAGES, "server_types": SERVER_TYPES}
_NOTHING = Refused(404, "not_found", "there is nothing here")
_PRIVATE = ("made_at", "deleted_at", "root_password")
"""What the fake keeps of a server and its listings do not contain."""


class FakeHetzner(Loopback):
    """A project behind the API, at ``url``. ``asked`` are the requests, as ``POST /servers``.

    ``faults`` are met in order. With ``blind`` listings ignore their selector: whoever trusts
    them alone deletes what belongs to others. After ``answers`` more requests every connection is
    closed; the last of them is done without an answer.
    """

    def __init__(self, port: int = 0, clock: Callable[[], float] = time.time) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.project = Project(clock)
        self.allowance = Allowance(clock)
        self.faults: list[Fault] = []
        self.asked: list[str] = []
        self.blind = False
        self.answers: int | None = None
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """Its endpoint, as HCLOUD_ENDPOINT has it."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def state(self) -> dict[str, Any]:
        """Return all there is, for tests that run in another process."""
        return {
            **{kind: list(self.project.things[kind].values()) for kind in KINDS},
            "deleted_servers": self.project.past,
            "bill": self.project.bill(),
            "asked": self.asked,
            "user_data": self.project.user_data,
        }


class Cut(Exception):
    """The connection is to be closed without an answer."""


class Handler(BaseHTTPRequestHandler):
    """Reads a request, and writes the answer to it."""

    server: FakeHetzner
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PUT = do_DELETE = do_GET

    def _serve(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size)) if size else {}
        at = urlsplit(self.path)
        try:
            with self.server.lock:
                token = self.headers.get("Authorization", "")
                status, answer = self.answered(at.path, parse_qs(at.query), body, token)
        except Refused as error:
            status, answer = error.status, error.reported
        except Cut:
            self.close_connection = True
            return
        said = b"" if answer is None else json.dumps(answer).encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        for name, value in self.server.allowance.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(said)

    def answered(
        self, path: str, query: Mapping[str, list[str]], body: Any, token: str
    ) -> tuple[int, Any]:
        """Return status and body of the answer. Raises Refused, and Cut where there is none."""
        fake = self.server
        if path == "/_state":
            return 200, fake.state()
        if path == "/_faults":
            fake.faults.append(Fault(**body))
            return 200, {}
        if token != f"Bearer {TOKEN}":
            raise Refused(401, "unauthorized", "unable to authenticate")
        path = path.removeprefix("/v1")
        fake.asked.append(f"{self.command} {path}")
        if fake.allowance.take():
            raise Refused(429, "rate_limit_exceeded", "limit of requests reached")
        if fake.answers is not None:
            fake.answers -= 1
            if fake.answers < 0:
                raise Cut
        fault = next((each for each in fake.faults if each.met_by(self.command, path)), None)
        if fault is not None and not fault.taken and not fault.fails:
            if not fault.status:
                raise Cut
            raise Refused(fault.status, fault.code, "injected")
        status, answer = self._done(path.strip("/").split("/"), query, body)
        if fake.answers == 0:
            raise Cut
        if fault is not None and fault.fails:
            fake.project.fail(answer["action"], fault.fails)
        elif fault is not None:
            raise Cut
        return status, answer

    def _done(self, parts: list[str], query: Mapping[str, list[str]], body: Any) -> tuple[int, Any]:
        if self.command == "GET":
            self.server.project.tick()
            return 200, self._found(parts, query)
        if parts[0] in KINDS:
            return self._changed(parts, body)
        raise _NOTHING

    def _found(self, parts: list[str], query: Mapping[str, list[str]]) -> dict[str, Any]:
        project = self.server.project
        match parts:
            case ["servers", "actions"]:
                begun = [
                    each
                    for each in project.actions.values()
                    if each["resources"][0]["type"] == "server"
                ]
                newest = query.get("sort") == ["id:desc"]
                return self._listed("actions", begun[::-1] if newest else begun, query)
            case [kind, number, "actions"] if kind in KINDS:
                about = {"id": project.find(kind, int(number))["id"], "type": kind[:-1]}
                fit = [each for each in project.actions.values() if about in each["resources"]]
                return self._listed("actions", fit, query)
            case ["pricing"]:
                return {"pricing": PRICING}
            case [kind] if kind in (*_FIXED, *KINDS, "actions"):
                return self._page(kind, self._things(kind), query)
            case [kind, number] if kind in _FIXED:
                for each in _FIXED[kind]:
                    if str(each["id"]) == number:
                        return {kind[:-1]: each}
            case [kind, number] if kind in (*KINDS, "actions"):
                return {kind[:-1]: _reported(project.find(kind, int(number)))}
        raise _NOTHING

    def _things(self, kind: str) -> list[Thing]:
        project = self.server.project
        if kind == "server_types":
            return [_with_capacity(each, project.sold_out) for each in SERVER_TYPES]
        found = project.actions if kind == "actions" else project.things.get(kind, {})
        return _FIXED.get(kind) or list(found.values())

    def _changed(self, parts: list[str], body: Any) -> tuple[int, Any]:
        project = self.server.project
        match self.command, parts:
            case "POST", [kind]:
                return 201, _made(kind, *project.make(kind, body))
            case "POST", [kind, number, "actions", command]:
                action = project.act(kind, int(number), command, body)
                return 201, {"actions": [action]} if kind == "firewalls" else {"action": action}
            case "PUT", [kind, number]:
                return 200, {kind[:-1]: _reported(project.change(kind, int(number), body))}
            case "DELETE", [kind, number]:
                deleting = project.delete(kind, int(number))
                return (204, None) if deleting is None else (200, {"action": deleting})
        raise _NOTHING

    def _page(
        self, kind: str, things: list[Thing], query: Mapping[str, list[str]]
    ) -> dict[str, Any]:
        selector = "" if self.server.blind else query.get("label_selector", [""])[0]
        fit = [
            each
            for each in things
            if matches(selector, each.get("labels", {}))
            and all(each[key] in query[key] for key in ("name", "status") if key in query)
            and ("id" not in query or str(each["id"]) in query["id"])
        ]
        return self._listed(kind, fit, query)

    def _listed(
        self, kind: str, fit: list[Thing], query: Mapping[str, list[str]]
    ) -> dict[str, Any]:
        page = int(query.get("page", ["1"])[0])
        size = min(int(query.get("per_page", ["25"])[0]), 50)
        last = max(1, -(-len(fit) // size))
        reported = [_reported(each) for each in fit[(page - 1) * size : page * size]]
        pagination = {
            "page": page,
            "per_page": size,
            "previous_page": page - 1 if page > 1 else None,
            "next_page": page + 1 if page < last else None,
            "last_page": last,
            "total_entries": len(fit),
        }
        return {kind: reported, "meta": {"pagination": pagination}}

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


def _with_capacity(kind: Thing, sold_out: set[tuple[str, str]]) -> Thing:
    """Return a type of server with the locations that have one now."""
    places = [
        {**each, "available": (kind["name"], each["name"]) not in sold_out}
        for each in kind["locations"]
    ]
    return {**kind, "locations": places}


def _reported(thing: Thing) -> Thing:
    return {key: value for key, value in thing.items() if key not in _PRIVATE}


def _made(kind: str, thing: Thing, actions: list[Thing]) -> dict[str, Any]:
    """Return the answer to making something, which differs by what is made."""
    reported: dict[str, Any] = {kind[:-1]: _reported(thing)}
    if kind == "servers":
        return {
            **reported,
            "action": actions[0],
            "next_actions": actions[1:],
            "root_password": thing["root_password"],
        }
    if kind == "volumes":
        return {**reported, "action": actions[0], "next_actions": []}
    return {**reported, "actions": []} if kind == "firewalls" else {**reported, "action": None}
