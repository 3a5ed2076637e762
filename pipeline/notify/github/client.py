"""GitHub's REST API, asked with care.

Reads are repeated until they are answered. A write is repeated only where it is certain that it
was not done: it was limited, or no connection came about. All of it has an end.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

from pipeline.config import GithubSection
from pipeline.errors import UserError
from pipeline.notify.base.preview import Preview, Show
from pipeline.notify.github.failures import (
    CutError,
    ForbiddenError,
    NotSentError,
    RefusedError,
    UnavailableError,
    UnknownError,
)
from pipeline.notify.github.limits import limited, message, pause, server_time
from pipeline.notify.github.transport import Answer, Transport, pygithub

ATTEMPTS = 5
"""How often something is asked before GitHub is taken to be out of order."""

BETWEEN_WRITES = 1.0
"""Seconds between two writes that GitHub asks for ("Best practices for using the REST API")."""

SETTLED = timedelta(minutes=5)
"""After which nothing that was sent is under way in GitHub, which ends it after seconds itself."""

LONGEST_REASON = 200
"""Characters of what GitHub says about an error that are told."""

PAGE = 100
"""Things on a page of a listing, the most there can be."""


@dataclass(frozen=True)
class Clock:
    """Time and chance. ``monotonic`` and ``sleep`` are in seconds, ``jitter`` is in [0, 1)."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


class Client:
    """Asks the API that ``[github]`` names, for one night.

    With ``show`` nothing is written: it is shown what would be. All requests and what is waited
    between them take at most ``[github] patience``; what is done meanwhile, as explaining a
    regression, is not GitHub's time. Once GitHub was found to be out of order or to limit us for
    longer than that, it is asked no more. Errors name no token.
    """

    def __init__(
        self,
        section: GithubSection,
        token: str,
        *,
        show: Show | None = None,
        clock: Clock | None = None,
        transport: Transport | None = None,
    ) -> None:
        self._section = section
        self._token = token
        self._show = show
        self._clock = clock or Clock()
        self._send = transport or pygithub(section.url, token)
        self._spent = 0.0
        self._written: float | None = None
        self._down = ""
        self._server: datetime | None = None

    @property
    def now(self) -> datetime:
        """The time, by GitHub's clock as soon as it has told it."""
        return self._server or self._clock.now()

    @property
    def settled_by(self) -> datetime:
        """When nothing is under way any more that is sent from now on, by GitHub's clock."""
        return self.now + timedelta(seconds=self._section.patience) + SETTLED

    @property
    def down(self) -> bool:
        """Whether GitHub is asked no more."""
        return bool(self._down)

    def read(self, path: str, **query: Any) -> Any:
        """Return what is at a path.

        Raises UnavailableError where GitHub does not answer, RefusedError where there is nothing,
        and UserError where the token is not good for it.
        """
        return self._data(self._ask("GET", path, query))

    def read_all(self, path: str, within: str = "", **query: Any) -> Iterator[Any]:
        """Go through a listing, page by page; raises as :meth:`read` does.

        ``within`` is the member of a page that holds what is listed, where it is not the page.
        """
        answer = self._ask("GET", path, {"per_page": PAGE, **query})
        while True:
            page = self._data(answer)
            listed = page.get(within) if within and isinstance(page, dict) else page
            if not isinstance(listed, list):
                raise UnavailableError(
                    "GitHub's answer is no listing as this nightshift knows them"
                )
            yield from listed
            following = re.search(r'<([^>]+)>;\s*rel="next"', answer.headers.get("link", ""))
            if following is None:
                return
            answer = self._ask("GET", following[1], {})

    def write(self, method: str, path: str, payload: Mapping[str, Any]) -> Any:
        """Send something, and return the answer; None where it is only shown.

        An empty ``payload`` is none: GitHub describes no body where there is nothing to say.
        Raises UnknownError where it may have been done, UnavailableError where it was not, and
        otherwise as :meth:`read` does.
        """
        if self._show is not None:
            place = self._section.url.rstrip("/") + path
            self._show(Preview(sink="github", method=method, place=place, payload=dict(payload)))
            return None
        if self._written is not None:
            early = self._written + BETWEEN_WRITES - self._clock.monotonic()
            self._wait(max(0.0, early), "GitHub wants a second between writes")
        try:
            return self._data(self._ask(method, path, {}, payload or None))
        finally:
            self._written = self._clock.monotonic()

    def _ask(self, method: str, path: str, query: Mapping[str, Any], payload: Any = None) -> Answer:
        reason, seconds = "GitHub answers slowly", 0.0
        for attempt in range(ATTEMPTS):
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
                    reason = f"GitHub limits how much is asked ({self._said(answer)})"
                    seconds = pause(answer, attempt, self.now) + self._clock.jitter()
                elif answer.status >= 500:
                    reason = f"GitHub answers {answer.status}"
                    self._check_done(method, reason)
                else:
                    return answer
        self._give_up(reason)

    def _sent(self, method: str, path: str, query: Mapping[str, Any], payload: Any) -> Answer:
        began = self._clock.monotonic()
        try:
            return self._send(method, path, query, payload)
        finally:
            self._spent += self._clock.monotonic() - began

    @staticmethod
    def _check_done(method: str, reason: str) -> None:
        """Refuse to send a write again that may have been done."""
        if method != "GET":
            raise UnknownError(f"{reason}, and may have done what was asked")

    def _wait(self, seconds: float, reason: str) -> None:
        """Wait, unless that takes longer than there is patience."""
        if self._down:
            raise UnavailableError(self._down)
        if self._spent + seconds > self._section.patience:
            self._give_up(reason)
        if seconds:
            self._clock.sleep(seconds)
            self._spent += seconds

    def _give_up(self, reason: str) -> NoReturn:
        self._down = reason.replace(self._token, "***")
        raise UnavailableError(self._down)

    def _said(self, answer: Answer) -> str:
        """Return what GitHub says about an error, short; a token in it is struck out whole."""
        return message(answer).replace(self._token, "***")[:LONGEST_REASON]

    def _data(self, answer: Answer) -> Any:
        if answer.status < 300:
            return answer.data
        said = self._said(answer)
        variable, repository = self._section.secret, self._section.repository
        if answer.status == 401:
            raise UserError(
                f"GitHub does not know the token in {variable} ({said}); put one there that is "
                f"valid for {repository}"
            )
        if answer.status == 403 and "locked" not in said:
            raise ForbiddenError(
                f"the token in {variable} may not do this in {repository} ({said}); give it the "
                "permission to write there"
            )
        raise RefusedError(answer.status, said)
