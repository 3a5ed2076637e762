"""A line that breaks: a proxy on loopback that lets so many bytes through and hangs up."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pipeline.machine.ports import LOOPBACK


class Proxy:
    """Passes connections on to a port. ``left`` is how many bytes still come from there.

    Once they are used up, every connection is reset, and so is every new one. ``passed`` counts
    what came.
    """

    def __init__(self, port: int, left: int) -> None:
        self.left = left
        self.passed = 0
        self._to = port
        self._lock = threading.Lock()
        self._server = socket.create_server((LOOPBACK, 0))
        self.port: int = self._server.getsockname()[1]

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Pass on, in threads that end with their connections."""
        threading.Thread(target=self._accept, daemon=True).start()
        try:
            yield
        finally:
            self._server.shutdown(socket.SHUT_RDWR)
            self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                ours, _ = self._server.accept()
                theirs = socket.create_connection((LOOPBACK, self._to))
                for pair in ((ours, theirs, False), (theirs, ours, True)):
                    threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, to: socket.socket, counted: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 14):
                if counted:
                    data = self._allowed(data)
                to.sendall(data)
                if counted and self.left <= 0:
                    break
        for each in (source, to):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _allowed(self, data: bytes) -> bytes:
        with self._lock:
            data = data[: max(self.left, 0)]
            self.left -= len(data)
            self.passed += len(data)
        return data
