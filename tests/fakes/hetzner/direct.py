"""The API without a socket: the real SDK asks as ever, many times as fast.

For tests that ask it a million times; that it is the same over HTTP, the others show.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.structures import CaseInsensitiveDict

from tests.fakes.hetzner.refused import Refused
from tests.fakes.hetzner.server import Cut, FakeHetzner, Handler

Answer = tuple[int, Any]
"""Status and body."""


class Direct(requests.Session):
    """Takes the place of the session that the SDK asks with.

    ``around`` is given what answers a request, and answers in its place as it likes.
    """

    def __init__(
        self,
        fake: FakeHetzner,
        around: Callable[[Callable[[], Answer]], Answer] = lambda ask: ask(),
    ) -> None:
        super().__init__()
        self._fake, self._around = fake, around

    def request(  # type: ignore[override]  # what the SDK gives, of all that there is
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        timeout: Any = None,
    ) -> requests.Response:
        """Answer a request."""
        del timeout
        call = _Call(self._fake, method)
        query = {name: _texts(value) for name, value in (params or {}).items() if value is not None}
        token = headers["Authorization"]
        status, reported = self._around(
            lambda: call.answer(urlsplit(url).path, query, json or {}, token)
        )
        answer = _response(status, reported)
        answer.headers = CaseInsensitiveDict(self._fake.allowance.headers)
        for hook in self.hooks["response"]:
            hook(answer)
        return answer


class _Call(Handler):
    """One request, which came by no socket."""

    def __init__(self, fake: FakeHetzner, method: str) -> None:
        # Not what the class above does, which reads a socket.
        self.server, self.command = fake, method

    def answer(
        self, path: str, query: Mapping[str, list[str]], body: Any, authorization: str
    ) -> Answer:
        """Return status and body. Raises ConnectionError where it is cut off."""
        try:
            return self.answered(path, query, body, authorization)
        except Refused as error:
            return error.status, error.reported
        except Cut as error:
            raise requests.ConnectionError("cut off") from error


def _response(status: int, reported: Any) -> requests.Response:
    answer = requests.Response()
    answer.status_code = status
    answer.encoding = "utf-8"
    answer.raw = io.BytesIO(b"" if reported is None else json.dumps(reported).encode())
    return answer


def _texts(value: Any) -> list[str]:
    """Return a parameter as it is read from an address."""
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]
