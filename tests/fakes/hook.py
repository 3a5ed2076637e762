"""A receiver of messages on loopback: what it was sent, and faults that are used up in order."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from email.message import Message
from http.server import BaseHTTPRequestHandler
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.fakes.loopback import Loopback


class Fault(NamedTuple):
    """What happens to a request instead of being taken.

    A ``status`` of 0 closes the connection; with ``taken`` after the message was. One that
    ``drips`` sends a byte of its answer now and then, for a minute.
    """

    status: int = 0
    words: str = ""
    headers: Mapping[str, str] = MappingProxyType({})
    taken: bool = False
    drips: bool = False


class Post(NamedTuple):
    """A request that was made."""

    path: str
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Hook(Loopback):
    """All requests are in ``asked``, and those that it took in ``taken``."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[Post] = []
        self.taken: list[Post] = []
        self.faults: list[Fault] = []

    @property
    def base(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        hook = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        post = Post(self.path, self.headers, body)
        hook.asked.append(post)
        fault = hook.faults.pop(0) if hook.faults else None
        if fault is None or fault.taken:
            hook.taken.append(post)
        if fault is not None and fault.drips:
            self._drip()
        if fault is not None and not fault.status:
            return
        status, words = (fault.status, fault.words) if fault is not None else (200, "ok")
        self.send_response_only(status)
        for name, value in fault.headers.items() if fault is not None else ():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(words.encode())))
        self.end_headers()
        self.wfile.write(words.encode())

    def _drip(self) -> None:
        with suppress(OSError):
            self.wfile.write(b"HTTP/1.1 200 ")
            for _ in range(600):
                self.wfile.write(b"O")
                time.sleep(0.1)

    def do_GET(self) -> None:
        self.server.asked.append(Post(self.path, self.headers, b""))
        if self.server.faults:
            self._drip()
        self.send_error(405)

    def log_message(self, format: str, *args: Any) -> None:
        del format, args
