"""Send one request to GitHub; after a failure, say whether GitHub carried it out.

PyGithub would repeat a POST whose response was lost, so its own retries are off. Retries are
decided in :mod:`pipeline.notify.github.client`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import requests
from github import Auth, Github
from github.Requester import Requester
from urllib3.exceptions import MaxRetryError, NewConnectionError

from pipeline.notify.github.failures import CutError, NotSentError
from pipeline.publish.deadline import DEADLINE, within
from pipeline.text.errors import UserError, first_line

TIMEOUT = 30
"""Timeout in seconds without data. GitHub itself ends requests after 10 seconds."""

_VERSION = "2022-11-28"
"""The version of GitHub's API that responses are parsed as."""

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


class GithubResponse(NamedTuple):
    """GitHub's answer to a request: status, headers and JSON."""

    status: int
    headers: Mapping[str, str]
    data: Any


Transport = Callable[[str, str, Mapping[str, Any], Any], GithubResponse]
"""Sends (method, path or address, query, payload) once.

Raises NotSentError if the request did not reach GitHub, and CutError if it may have.
"""


def pygithub(url: str, token: str) -> Transport:
    """Return a function that sends requests to the API at ``url`` with a token.

    Raises UserError for an address that would receive the token unencrypted, and for a token that
    cannot be sent.
    """
    if not token.isascii() or not token.isprintable():
        # An error while sending would print the token.
        raise UserError(
            "the token for GitHub contains invalid characters, for example quotation marks or "
            "a line break; set it again"
        )
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise UserError(
            f"[github] url = {url!r} is not encrypted, so the token is not sent; use https"
        )

    def connect() -> Requester:
        return Github(
            base_url=url,
            auth=Auth.Token(token),
            timeout=TIMEOUT,
            user_agent="nightshift",
            api_version=_VERSION,
            retry=None,
            # The client waits for both with its other, bounded delays.
            seconds_between_requests=None,
            seconds_between_writes=None,
            lazy=True,
        ).requester

    requester = connect()

    def send(method: str, path: str, query: Mapping[str, Any], payload: Any) -> GithubResponse:
        nonlocal requester
        headers = {"Accept": "application/vnd.github+json"}
        try:
            status, received, text = within(
                DEADLINE,
                partial(requester.requestJson, method, path, dict(query), headers, payload),
            )
        except TimeoutError as error:
            # The abandoned request still uses the connection.
            requester = connect()
            raise CutError(str(error)) from None
        except requests.RequestException as error:
            reason = _reason(error).replace(token, "***")
            raise (NotSentError if _not_sent(error) else CutError)(reason) from None
        except RuntimeError as error:  # PyGithub's error on a redirect to another host
            raise UserError(
                f"[github] url = {url!r} is not the address of the API ({first_line(error)}); "
                "write for example https://api.github.com"
            ) from None
        return GithubResponse(status, received, _parsed(status, text))

    return send


def _parsed(status: int, text: str) -> Any:
    """Return the JSON of GitHub's answer; None if the answer is something else."""
    try:
        return json.loads(text) if text else None
    except json.JSONDecodeError:
        if status < 400:
            raise CutError("incomplete response") from None
        return None


def _not_sent(error: requests.RequestException) -> bool:
    if isinstance(error, requests.ConnectTimeout | requests.exceptions.ProxyError):
        return True
    cause = error.args[0] if error.args else None
    return isinstance(cause, MaxRetryError) and isinstance(cause.reason, NewConnectionError)


def _reason(error: requests.RequestException) -> str:
    """Return in a few words why a request failed."""
    if isinstance(error, requests.Timeout):
        return "no answer within the time limit"
    if isinstance(error, requests.exceptions.SSLError):
        return f"no trusted TLS connection: {first_line(error)}"
    if _not_sent(error):
        return "no connection"
    return "the connection was cut"
