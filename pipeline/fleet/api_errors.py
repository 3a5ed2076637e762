"""Errors of Hetzner Cloud's API: which are transient, and what to do about the others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TypeVar

import requests
from hcloud import APIException

from pipeline.fleet.retry import TransientError
from pipeline.text.errors import UserError

_Answer = TypeVar("_Answer")


class SoldOutError(UserError):
    """A server type is sold out in a location at present."""


class Limited(UserError):
    """A limit of the cloud project is reached, so other locations do not help."""


class NameTakenError(UserError):
    """A resource with this name exists already in the cloud project."""


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


def _limited(message: str) -> Exception:
    return Limited(
        f"Hetzner Cloud: {message}; delete unused resources, request a higher limit, lower the "
        "count of a [[class]], or name smaller types in its setting instead"
    )


def _locked(message: str) -> Exception:
    return UserError(
        f"Hetzner Cloud: {message}; the resource is locked: ask the support of Hetzner"
    )


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
    "resource_unavailable": SoldOutError,
    "placement_error": SoldOutError,
    # A type that is no longer sold.
    "invalid_server_type": SoldOutError,
    "resource_limit_exceeded": _limited,
    "uniqueness_error": NameTakenError,
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

_NOT_SOLD_THERE = "unsupported location for server type"
"""The message of ``invalid_input`` for a type that a location does not (or no longer) have."""


def translated(ask: Callable[[], _Answer]) -> _Answer:
    """Call the cloud's API once, and turn its exceptions into ours or a UserError."""
    try:
        return ask()
    except requests.RequestException as error:
        raise TransientError(f"Hetzner Cloud does not respond ({type(error).__name__})") from error
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
    if _NOT_SOLD_THERE in message:
        return SoldOutError(message)
    if code in _MEANING:
        return _MEANING[code](message)
    return UserError(f"Hetzner Cloud: {message} ({code})")
