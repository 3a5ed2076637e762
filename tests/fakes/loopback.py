"""What every fake of a service is: a server on loopback, in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any


class Loopback(ThreadingHTTPServer):
    """Answers while :meth:`serving`."""

    daemon_threads = True

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

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that go away are part of the tests."""
