"""A client of GitHub's REST API with retries and limits.

Reads are retried until GitHub responds. A write is retried only if it certainly was not done: it
was rate limited, or the connection failed. All retries are bounded.
"""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

from pipeline.config import GithubSection
from pipeline.notify.base.preview import Preview, Show
from pipeline.notify.github.failures import (
    CutError,
    ForbiddenError,
    GithubRefusedError,
    NotSentError,
    UnavailableError,
    UnknownError,
)
from pipeline.notify.github.limits import limited, message, pause, server_time
from pipeline.notify.github.transport import GithubResponse, Transport, pygithub
from pipeline.text.errors import UserError

_LOG = logging.getLogger(__name__)


ATTEMPTS = 5
"""Attempts before GitHub counts as unavailable."""

BETWEEN_WRITES = 1.0
"""Seconds between two writes, as GitHub requests ("Best practices for using the REST API")."""

SETTLED = timedelta(minutes=5)
"""The time after which no sent request is still in progress; GitHub itself ends requests after some
seconds."""

LONGEST_REASON = 200
"""Maximum length of a reported GitHub error message, in characters."""

PAGE = 100
"""Page size of a listing, the maximum."""


@dataclass(frozen=True)
class GithubClock:
    """The time and random numbers that the client of GitHub uses; tests replace them."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


class Client:
    """A client of GitHub's API for one night.

    With ``show`` it writes nothing, but shows what it would write. All requests and the delays
    between them take at most ``[github] patience``; other work in between, such as explaining a
    regression, does not count. Once GitHub is unavailable, or imposes a rate limit that lasts
    longer than this time, no more requests are sent. Errors contain no token.
    """

    def __init__(
        self,
        section: GithubSection,
        token: str,
        *,
        show: Show | None = None,
        clock: GithubClock | None = None,
        transport: Transport | None = None,
    ) -> None:
        self._section = section
        self._token = token
        self._show = show
        self._clock = clock or GithubClock()
        self._send = transport or pygithub(section.url, token)
        self._spent = 0.0
        self._written: float | None = None
        self._down = ""
        self._server: datetime | None = None

    @property
    def now(self) -> datetime:
        """The current time, by GitHub's clock once it is known."""
        return self._server or self._clock.now()

    @property
    def settled_by(self) -> datetime:
        """Return the time, by GitHub's clock, at which a request sent now has certainly ended."""
        return self.now + timedelta(seconds=self._section.patience) + SETTLED

    @property
    def down(self) -> bool:
        """Whether GitHub failed in such a way that no more requests are sent tonight."""
        return bool(self._down)

    def read(self, path: str, **query: Any) -> Any:
        """Return what GitHub answers for a path of its API.

        Raises UnavailableError if GitHub does not respond, GithubRefusedError if the resource does
        not exist, and UserError if the token lacks the permission.
        """
        return self._data(self._ask("GET", path, query))

    def read_all(self, path: str, within: str = "", **query: Any) -> Iterator[Any]:
        """Iterate over all entries of a list that GitHub returns page by page.

        ``within`` is the member of a page that holds the list, if the page itself is not the list.
        """
        answer = self._ask("GET", path, {"per_page": PAGE, **query})
        while True:
            page = self._data(answer)
            listed = page.get(within) if within and isinstance(page, dict) else page
            if not isinstance(listed, list):
                raise UnavailableError("the response of GitHub is not a valid list")
            yield from listed
            following = re.search(r'<([^>]+)>;\s*rel="next"', answer.headers.get("link", ""))
            if following is None:
                return
            answer = self._ask("GET", following[1], {})

    def write(self, method: str, path: str, payload: Mapping[str, Any]) -> Any:
        """Send a change to GitHub and return GitHub's answer; in a preview, only show the change.

        An empty ``payload`` sends no body: GitHub documents no body for such requests. Raises
        UnknownError if the write may have been done, UnavailableError if it was not, and otherwise
        as :meth:`read` does.
        """
        if self._show is not None:
            place = self._section.url.rstrip("/") + path
            self._show(Preview(sink="github", method=method, place=place, payload=dict(payload)))
            return None
        if self._written is not None:
            early = self._written + BETWEEN_WRITES - self._clock.monotonic()
            self._wait(max(0.0, early), "GitHub requires a second between writes")
        try:
            return self._data(self._ask(method, path, {}, payload or None))
        finally:
            self._written = self._clock.monotonic()

    def _ask(
        self, method: str, path: str, query: Mapping[str, Any], payload: Any = None
    ) -> GithubResponse:
        reason, seconds = "GitHub answers slowly", 0.0
        for attempt in range(ATTEMPTS):
            if attempt:
                _LOG.info("%s; retrying in %.0f s", self._without_token(reason), seconds)
            self._wait(seconds, reason)
            seconds = 2.0**attempt * (1.0 + self._clock.jitter())
            try:
                answer = self._sent(method, path, query, payload)
            except NotSentError as error:
                reason = str(error)
            except CutError as error:
                reason = str(error)
                self._check_done(method, reason)
            else:
                self._server = server_time(answer) or self._server
                if limited(answer):
                    reason = f"GitHub limits the rate of requests ({self._reason(answer)})"
                    seconds = pause(answer, attempt, self.now) + self._clock.jitter()
                elif answer.status >= 500:
                    reason = f"GitHub returned {answer.status}"
                    self._check_done(method, reason)
                else:
                    return answer
        self._give_up(reason)

    def _sent(
        self, method: str, path: str, query: Mapping[str, Any], payload: Any
    ) -> GithubResponse:
        began = self._clock.monotonic()
        try:
            return self._send(method, path, query, payload)
        finally:
            self._spent += self._clock.monotonic() - began

    @staticmethod
    def _check_done(method: str, reason: str) -> None:
        """Raise UnknownError if a failed write may have been done, so it is not repeated."""
        if method != "GET":
            raise UnknownError(f"{reason}; it is unknown whether GitHub carried out the request")

    def _wait(self, seconds: float, reason: str) -> None:
        """Wait before a retry; give up if that would take too long."""
        if self._down:
            raise UnavailableError(self._down)
        if self._spent + seconds > self._section.patience:
            self._give_up(reason)
        if seconds:
            self._clock.sleep(seconds)
            self._spent += seconds

    def _give_up(self, reason: str) -> NoReturn:
        self._down = self._without_token(reason)
        raise UnavailableError(self._down)

    def _without_token(self, text: str) -> str:
        return text.replace(self._token, "***")

    def _reason(self, answer: GithubResponse) -> str:
        """Return GitHub's error message, shortened and without the token."""
        return message(answer).replace(self._token, "***")[:LONGEST_REASON]

    def _data(self, answer: GithubResponse) -> Any:
        if answer.status < 300:
            return answer.data
        reason = self._reason(answer)
        variable, repository = self._section.secret, self._section.repository
        if answer.status == 401:
            raise UserError(
                f"GitHub rejects the token in {variable} ({reason}); set it to a token that is "
                f"valid for {repository}"
            )
        if answer.status == 403 and "locked" not in reason:
            raise ForbiddenError(
                f"the token in {variable} lacks a permission for {repository} ({reason}); give it "
                "write access"
            )
        raise GithubRefusedError(answer.status, reason)
