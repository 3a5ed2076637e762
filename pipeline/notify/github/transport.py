"""One request to GitHub by PyGithub, and what its failure says of whether it was done.

PyGithub would repeat a POST whose answer was lost, so its own retries are off: whether something is
asked again is decided in :mod:`pipeline.notify.github.client`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import requests
from github import Auth, Github
from urllib3.exceptions import MaxRetryError, NewConnectionError

from pipeline.errors import UserError, first_line
from pipeline.notify.github.failures import CutError, NotSentError

TIMEOUT = 30
"""Seconds that GitHub may be silent. It ends what takes it longer than 10 itself."""

_VERSION = "2022-11-28"
"""The version of GitHub's API that answers are read as."""

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


class Answer(NamedTuple):
    """What GitHub said. Names of ``headers`` are in lower case; ``data`` is the JSON, if any."""

    status: int
    headers: Mapping[str, str]
    data: Any


Transport = Callable[[str, str, Mapping[str, Any], Any], Answer]
"""Sends (method, path or address, query, payload) once.

Raises NotSentError where it did not arrive, and CutError where that is not known.
"""


def pygithub(url: str, token: str) -> Transport:
    """Return what sends requests to the API at ``url`` with a token.

    Raises UserError for an address to which the token would travel unencrypted, and for a token
    that cannot be sent.
    """
    if not token.isascii() or not token.isprintable():
        # Whatever tries to send it tells it.
        raise UserError(
            "the token for GitHub has letters that no token has, as quotation marks or the end of "
            "a line; set it again"
        )
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise UserError(f"[github] url = {url!r} would show the token to the network; use https")
    requester = Github(
        base_url=url,
        auth=Auth.Token(token),
        timeout=TIMEOUT,
        user_agent="nightshift",
        api_version=_VERSION,
        retry=None,
        # Both are waited for with the rest, where it is bounded.
        seconds_between_requests=None,
        seconds_between_writes=None,
        lazy=True,
    ).requester

    def send(method: str, path: str, query: Mapping[str, Any], payload: Any) -> Answer:
        headers = {"Accept": "application/vnd.github+json"}
        try:
            status, said, text = requester.requestJson(method, path, dict(query), headers, payload)
        except requests.RequestException as error:
            reason = _reason(error).replace(token, "***")
            raise (NotSentError if _not_sent(error) else CutError)(reason) from None
        except RuntimeError as error:  # PyGithub's word on a redirect to another host
            raise UserError(
                f"[github] url = {url!r} is not where the API is; {first_line(error)}"
            ) from None
        return Answer(status, said, _parsed(status, text))

    return send


def _parsed(status: int, text: str) -> Any:
    """Return the JSON of an answer; what stands before GitHub answers errors with pages."""
    try:
        return json.loads(text) if text else None
    except json.JSONDecodeError:
        if status < 400:
            raise CutError("half an answer") from None
        return None


def _not_sent(error: requests.RequestException) -> bool:
    if isinstance(error, requests.ConnectTimeout | requests.exceptions.ProxyError):
        return True
    cause = error.args[0] if error.args else None
    return isinstance(cause, MaxRetryError) and isinstance(cause.reason, NewConnectionError)


def _reason(error: requests.RequestException) -> str:
    """Say it in few words: what requests says names objects in memory."""
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.exceptions.SSLError):
        return f"no trusted connection: {first_line(error)}"
    if _not_sent(error):
        return "no connection"
    return "the connection was cut"
