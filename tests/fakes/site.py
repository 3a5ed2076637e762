"""A site on loopback: files by path, and faults that are used up in order."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Site(ThreadingHTTPServer):
    """What it has is in ``files``, by path. What was asked for is in ``asked``.

    ``faults`` of a path are used up in order: a status, "truncated" or "flipped".
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[str]] = {}
        self.asked: list[str] = []
        self.agents: set[str] = set()

    @property
    def base(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"

    def asked_for(self, path: str) -> int:
        """Return how often a path was asked for."""
        return self.asked.count(path)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Answer in a thread."""
        with self:
            thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            try:
                yield
            finally:
                self.shutdown()
                thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        site = self.server
        site.asked.append(self.path)
        site.agents.add(self.headers["User-Agent"])
        faults = site.faults.get(self.path, [])
        fault = faults.pop(0) if faults else ""
        body = site.files.get(self.path)
        if fault.isdigit() or body is None:
            self.send_error(int(fault or 404))
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if fault == "truncated":
            body = body[: len(body) // 2]
        elif fault == "flipped":
            body = body[:-1] + bytes([body[-1] ^ 1])
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


class Sleeps(list[float]):
    """A sleep that only notes how long it was asked for."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)
