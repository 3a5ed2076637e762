"""Send messages to an HTTP address, with retries and without following redirects."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

import requests

from pipeline import __version__
from pipeline.publish.answer import ReceiverAnswer, one_line, retry_after
from pipeline.publish.deadline import DEADLINE, within
from pipeline.storage.journal import now
from pipeline.text.errors import UserError

_LOG = logging.getLogger(__name__)


ATTEMPTS = 4
"""Attempts per message before the receiver counts as unreachable."""
TIMEOUT = 10.0
"""Timeout in seconds to connect, and to wait for a response."""
PATIENCE = 60.0
"""Total time in seconds that a sink may spend on failed requests in one night."""
FIRST_WAIT = 1.0
"""Approximate delay in seconds before the second attempt; doubled before each further one."""

_REFUSES_MESSAGE = frozenset({400, 409, 413, 415, 422})


class MessageRefusedError(Exception):
    """A receiver rejects this message but may accept others; the text says why."""


class ReceiverUnreachableError(Exception):
    """A receiver accepts no messages at present; the text says why and what to do."""


class PostClock(NamedTuple):
    """The time and random numbers that sending uses; tests replace them.

    ``deadline`` is the limit of one request, in seconds.
    """

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random
    now: Callable[[], datetime] = now
    deadline: float = DEADLINE


def check_address(address: str, where: str) -> str:
    """Check a receiver's address, and return it for display without its secret parts.

    ``where`` names the setting in error messages. Raises UserError, without repeating the address,
    if it is invalid, contains a password, or would send messages unencrypted to another machine.
    """
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        parts, host = urlsplit(""), ""
    if parts.scheme not in ("http", "https") or not host or not address.isprintable():
        raise UserError(
            f"{where} is not the address of a receiver; write an address that begins with https://"
        )
    if "@" in parts.netloc:
        raise UserError(f"{where} contains a user or a password; remove them")
    if parts.scheme != "https" and not _is_loopback(host):
        raise UserError(f"{where} is not encrypted and not on this machine; use https://")
    return f"{parts.scheme}://{parts.netloc}{parts.path}" + ("?..." if parts.query else "")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class Receiver:
    """An HTTP address that messages are sent to; error messages call it by ``name``.

    ``secrets`` are texts that are never shown, even if a response contains them; a secret address
    is one of them. ``where`` names the setting with the address in error messages.
    """

    def __init__(
        self,
        address: str,
        name: str,
        where: str,
        *,
        secrets: tuple[str, ...] = (),
        clock: PostClock | None = None,
    ) -> None:
        self.name = name
        self._address = address
        self._where = where
        self._secrets = secrets
        self._clock = clock or PostClock()
        self._patience = PATIENCE
        self._session = requests.Session()
        # Environment proxies do not reach this machine's own ports.
        self._session.trust_env = not _is_loopback(urlsplit(address).hostname or "")
        self._session.auth = _nothing

    def post(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Send a message; retry until it is accepted or refused, or the time limit is reached.

        Raises MessageRefusedError and ReceiverUnreachableError.
        """
        sent = {
            "Content-Type": "application/json",
            "User-Agent": f"nightshift/{__version__}",
            **headers,
        }
        wait = FIRST_WAIT
        for attempt in range(1, ATTEMPTS + 1):
            began = self._clock.monotonic()
            answer = self._answer(body, sent)
            if answer.taken:
                return
            if answer.status in _REFUSES_MESSAGE:
                raise MessageRefusedError(f"{self.name} {answer}")
            self._patience -= self._clock.monotonic() - began
            pause = answer.retry_after
            if pause is None:
                pause = (0.5 + 0.5 * self._clock.jitter()) * wait
            if not answer.may_pass or attempt == ATTEMPTS or pause > self._patience:
                raise ReceiverUnreachableError(f"{self.name} {answer}; {self._advice(answer)}")
            _LOG.info("%s %s; retrying in %.0f s", self.name, answer, pause)
            self._clock.sleep(pause)
            self._patience -= pause
            wait *= 2

    def _answer(self, body: bytes, headers: Mapping[str, str]) -> ReceiverAnswer:
        try:
            return within(self._clock.deadline, lambda: self._post(body, headers))
        except TimeoutError as error:
            return ReceiverAnswer(0, str(error))

    def _post(self, body: bytes, headers: Mapping[str, str]) -> ReceiverAnswer:
        try:
            with self._session.post(
                self._address,
                data=body,
                headers=headers,
                timeout=TIMEOUT,
                # A followed redirect would send the message to another host.
                allow_redirects=False,
                stream=True,
            ) as answer:
                # Do not read the body of a successful response: a slow one would delay for nothing.
                taken = answer.status_code // 100 == 2
                content = b"" if taken else next(answer.iter_content(4096), b"")
                return ReceiverAnswer(
                    answer.status_code,
                    self._quoted(content.decode("utf-8", "replace")),
                    retry_after(answer.headers),
                )
        except requests.exceptions.SSLError:
            return ReceiverAnswer(0, "has no certificate that this machine trusts")
        except requests.Timeout:
            return ReceiverAnswer(0, f"did not answer within {TIMEOUT:g} s")
        except (OSError, ValueError):
            # The exception's text contains the address, which may be secret.
            return ReceiverAnswer(0, "cannot be reached")

    def _quoted(self, words: str) -> str:
        """Return text from a receiver as one line that is safe to print."""
        for secret in self._secrets:
            words = words.replace(secret, "***")
        return one_line(words)

    def _advice(self, answer: ReceiverAnswer) -> str:
        if answer.may_pass:
            return "check that it runs and is reachable from this machine"
        return f"check {self._where}"


def _nothing(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Return a request unchanged, so that passwords in ~/.netrc are not sent."""
    return request
