"""The fake behind real sockets on loopback: the API, and beside it the place of artifacts."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.fakes.github.control import control
from tests.fakes.github.fake import FakeGithub, Sent

STORAGE = "127.0.0.2"
"""Where artifacts lie: another host than the API's, as with GitHub."""

Answering = Callable[[str, str, Mapping[str, str], bytes], tuple[Sent | None, float]]


class GithubServer(FakeGithub):
    """The fake with an address: ``url`` while it is ``serving``."""

    @property
    def url(self) -> str:
        """Where it answers."""
        return self.base

    @contextmanager
    def serving(self, port: int = 0) -> Iterator[None]:
        """Answer in threads; on a free port unless one is named."""
        api = _Server(("127.0.0.1", port), self._api)
        storage = _Server((STORAGE, 0), self._store)
        self.base = f"http://127.0.0.1:{api.server_port}"
        self.storage = f"http://{STORAGE}:{storage.server_port}"
        with api.serving(), storage.serving():
            yield

    def _api(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[Sent | None, float]:
        if target.startswith("/_"):
            status, content = control(self, method, target, body)
            return Sent(status, {"Content-Type": "application/octet-stream"}, content), 0.0
        return self.handle(method, target, headers, body)

    def _store(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[Sent, float]:
        del method, body
        return self.download(target, headers), 0.0


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], answering: Answering) -> None:
        super().__init__(address, _Handler)
        self.answering = answering
        self._connections: set[socket.socket] = set()
        self.mistakes: list[BaseException | None] = []

    @contextmanager
    def serving(self) -> Iterator[None]:
        with self:
            thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            try:
                yield
            finally:
                self.shutdown()
                thread.join()
                # A client that keeps connections must not go on with what has ended.
                for connection in tuple(self._connections):
                    with suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)
                for mistake in self.mistakes:
                    raise AssertionError("the fake of GitHub went wrong") from mistake

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away; anything else is a mistake of the fake."""
        error = sys.exception()
        if not isinstance(error, ConnectionError):
            self.mistakes.append(error)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        sent, seconds = self.server.answering(self.command, self.path, headers, body)
        if seconds:
            time.sleep(seconds)
        if sent is None:
            self.close_connection = True
            return
        self.send_response_only(sent.status)
        for name, value in sent.headers.items():
            self.send_header(name, value)
        if sent.status != 204:
            self.send_header("Content-Length", str(len(sent.body)))
        self.end_headers()
        self.wfile.write(sent.body)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _answer

    def log_message(self, format: str, *args: Any) -> None:
        del format, args
