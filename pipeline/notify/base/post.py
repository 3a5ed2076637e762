"""Messages by HTTP: posted to one address, again while a failure may pass, and never elsewhere."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from http import HTTPStatus
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

import requests

from pipeline import __version__
from pipeline.errors import UserError
from pipeline.journal import now

ATTEMPTS = 4
"""How often one message is sent before the receiver counts as out of reach."""
TIMEOUT = 10.0
"""Seconds to connect, and to wait for an answer."""
PATIENCE = 60.0
"""Seconds that failures may cost a sink in one night."""
FIRST_WAIT = 1.0
"""Seconds before the second attempt, about; doubled before each further one."""
LONGEST_REASON = 200
"""Characters of a receiver's words that are told."""

_BUSY = frozenset({408, 425, 429})
_REFUSES_MESSAGE = frozenset({400, 409, 413, 415, 422})


class RefusedError(Exception):
    """The receiver does not take this message; it may take others. The text says why."""


class UnreachableError(Exception):
    """The receiver takes no message. The text says why, and what to do."""


class Clock(NamedTuple):
    """Time and chance: seconds that pass, a wait of seconds, a number in [0, 1), the date."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random
    now: Callable[[], datetime] = now


class _Answer(NamedTuple):
    status: int
    words: str
    retry_after: float | None = None

    @property
    def may_pass(self) -> bool:
        return not self.status or self.status in _BUSY or self.status >= 500

    def __str__(self) -> str:
        if not self.status:
            return self.words
        try:
            phrase = f" {HTTPStatus(self.status).phrase}"
        except ValueError:
            phrase = ""
        return f"answers {self.status}{phrase}" + (f" ({self.words})" if self.words else "")


def check_address(address: str, where: str) -> str:
    """Return the address of a receiver as it is shown: without what may be secret in it.

    ``where`` says where it was set. Raises UserError, which does not repeat it, for one that is
    none, that holds a password, or that would be sent to unencrypted beyond this machine.
    """
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        parts, host = urlsplit(""), ""
    if parts.scheme not in ("http", "https") or not host or not address.isprintable():
        raise UserError(f"{where} is not the address of a receiver; one begins with https://")
    if "@" in parts.netloc:
        raise UserError(f"{where} holds a user or a password; leave them out")
    if parts.scheme != "https" and not _is_loopback(host):
        raise UserError(f"{where} is not encrypted, and not on this machine; use https://")
    return f"{parts.scheme}://{parts.netloc}{parts.path}" + ("?..." if parts.query else "")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class Receiver:
    """Posts to an ``address``, which errors call ``name``.

    ``secrets`` are struck out of whatever is told of its answers; an address that is secret is
    one. ``where`` says where the address was set.
    """

    def __init__(
        self,
        address: str,
        name: str,
        where: str,
        *,
        secrets: tuple[str, ...] = (),
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self._address = address
        self._where = where
        self._secrets = secrets
        self._clock = clock or Clock()
        self._patience = PATIENCE
        self._session = requests.Session()
        # A proxy that the environment names does not lead to this machine's own ports.
        self._session.trust_env = not _is_loopback(urlsplit(address).hostname or "")
        self._session.auth = _nothing

    def post(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Send a message until it is taken.

        Raises RefusedError and UnreachableError.
        """
        sent = {
            "Content-Type": "application/json",
            "User-Agent": f"nightshift/{__version__}",
            **headers,
        }
        wait = FIRST_WAIT
        for attempt in range(1, ATTEMPTS + 1):
            began = self._clock.monotonic()
            answer = self._post(body, sent)
            if answer.status // 100 == 2:
                return
            if answer.status in _REFUSES_MESSAGE:
                raise RefusedError(f"{self.name} {answer}")
            self._patience -= self._clock.monotonic() - began
            pause = answer.retry_after
            if pause is None:
                pause = (0.5 + 0.5 * self._clock.jitter()) * wait
            if not answer.may_pass or attempt == ATTEMPTS or pause > self._patience:
                raise UnreachableError(f"{self.name} {answer}; {self._advice(answer)}")
            self._clock.sleep(pause)
            self._patience -= pause
            wait *= 2

    def _post(self, body: bytes, headers: Mapping[str, str]) -> _Answer:
        try:
            with self._session.post(
                self._address,
                data=body,
                headers=headers,
                timeout=TIMEOUT,
                # Who is sent elsewhere would tell a stranger.
                allow_redirects=False,
                stream=True,
            ) as answer:
                said = b""
                if answer.status_code // 100 != 2:
                    said = next(answer.iter_content(4096), b"")
                told = answer.headers.get("Retry-After", "").strip()
                return _Answer(
                    answer.status_code,
                    self._quoted(said.decode("utf-8", "replace")),
                    float(told) if told.isdecimal() and len(told) < 10 else None,
                )
        except requests.exceptions.SSLError:
            return _Answer(0, "has no certificate that this machine trusts")
        except requests.Timeout:
            return _Answer(0, f"does not answer within {TIMEOUT:g} s")
        except (OSError, ValueError):
            # What requests says of it holds the address, which may be secret.
            return _Answer(0, "cannot be reached")

    def _quoted(self, words: str) -> str:
        """Return a receiver's words as one line that is fit to be shown."""
        for secret in self._secrets:
            words = words.replace(secret, "***")
        line = " ".join("".join(each if each.isprintable() else " " for each in words).split())
        return line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 3]}..."

    def _advice(self, answer: _Answer) -> str:
        if answer.may_pass:
            return "see that it runs and can be reached from here"
        return f"see that {self._where} is right"


def _nothing(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Add nothing to a request: what ~/.netrc knows of a host is not for it."""
    return request
