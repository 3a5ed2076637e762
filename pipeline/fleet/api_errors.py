"""Errors of Hetzner Cloud's API: which are transient, and what to do about the others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TypeVar

import requests
from hcloud import APIException

from pipeline.fleet.retry import TransientError, UnreachableError
from pipeline.text.errors import UserError

_Answer = TypeVar("_Answer")


class Gone(UserError):
    """A resource of the cloud project does not exist, or no longer exists."""


class Failed(UserError):
    """An action of the cloud ended with an error, which the text reports in one line."""


def _unknown_token(message: str) -> Exception:
    return UserError(f"Hetzner Cloud rejects the token ({message}); set a valid one")


def _weak_token(message: str) -> Exception:
    return UserError(
        f"Hetzner Cloud: {message}; use a token of the project with read and write access"
    )


def _gone(message: str) -> Exception:
    return Gone(f"Hetzner Cloud: {message}; check that the names in [fleet] and [[class]] exist")


def _locked(message: str) -> Exception:
    return UserError(f"Hetzner Cloud: {message}; the resource is locked: contact Hetzner support")


def _removed(message: str) -> Exception:
    return UserError(
        f"Hetzner Cloud: {message}; this release of nightshift is too old for the API: upgrade it"
    )


_PASSING = frozenset(
    {
        "bad_gateway",
        "conflict",
        "gateway_timeout",
        "locked",
        "maintenance",
        "rate_limit_exceeded",
        "resource_in_use",
        "robot_unavailable",
        "server_error",
        "service_error",
        "timeout",
        "unavailable",
        "unknown_error",
    }
)
"""Transient errors of the API; see https://docs.hetzner.cloud/reference/cloud#errors."""

_MEANING: Mapping[str, Callable[[str], Exception]] = {
    "not_found": _gone,
    "404": _gone,
    "429": TransientError,
    "unauthorized": _unknown_token,
    "401": _unknown_token,
    "forbidden": _weak_token,
    "token_readonly": _weak_token,
    "403": _weak_token,
    "resource_locked": _locked,
    "deprecated_api_endpoint": _removed,
}
"""Exceptions for the other errors, by error code."""


def translated(ask: Callable[[], _Answer]) -> _Answer:
    """Call the cloud's API once, and turn its exceptions into ours or a UserError."""
    try:
        return ask()
    except requests.RequestException as error:
        problem = f"Hetzner Cloud does not respond ({type(error).__name__})"
        raise UnreachableError(problem) from error
    except APIException as error:
        raise _ours(error) from error


def plain(text: str) -> str:
    """Return text of the cloud's API as one line that is safe to print."""
    return re.sub(r"[^\x20-\x7e]+", " ", text).strip()[:200]


def _ours(error: APIException) -> Exception:
    message, code = plain(error.message or ""), plain(str(error.code))
    status = error.code if isinstance(error.code, int) else 0
    if code in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return TransientError(f"Hetzner Cloud: {message} ({code})")
    if code in _MEANING:
        return _MEANING[code](message)
    return UserError(f"Hetzner Cloud: {message} ({code})")
