"""What the errors of Hetzner Cloud mean: whether they pass, and what to do where they do not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TypeVar

import requests
from hcloud import APIException

from pipeline.errors import UserError
from pipeline.fleet.pace import Passing

_Answer = TypeVar("_Answer")


class SoldOut(UserError):
    """Servers of a type cannot be had in a location now."""


class Limited(UserError):
    """A limit of the project is reached: no other location has more of that type."""


class Taken(UserError):
    """Something has that name already."""


class Gone(UserError):
    """It is not there, or no longer."""


class Failed(UserError):
    """What was begun ended with an error: says in a line which."""


def _unknown_token(said: str) -> Exception:
    return UserError(f"Hetzner Cloud does not know the token ({said}); set another one")


def _weak_token(said: str) -> Exception:
    return UserError(f"Hetzner Cloud: {said}; use a token of the project that may read and write")


def _gone(said: str) -> Exception:
    return Gone(f"Hetzner Cloud: {said}; see that what [fleet] and [[class]] name is there")


def _limited(said: str) -> Exception:
    return Limited(
        f"Hetzner Cloud: {said}; delete what is not needed, ask there for a higher limit, lower "
        "the count of a [[class]], or name smaller types in its instead"
    )


def _locked(said: str) -> Exception:
    return UserError(f"Hetzner Cloud: {said}; ask its support, who locked that")


def _removed(said: str) -> Exception:
    return UserError(f"Hetzner Cloud: {said}; upgrade nightshift")


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
"""Errors of the API that may pass; see https://docs.hetzner.cloud/reference/cloud#errors."""

_MEANING: Mapping[str, Callable[[str], Exception]] = {
    "resource_unavailable": SoldOut,
    "placement_error": SoldOut,
    # A type that is no longer sold.
    "invalid_server_type": SoldOut,
    "resource_limit_exceeded": _limited,
    "uniqueness_error": Taken,
    "not_found": _gone,
    "404": _gone,
    "429": Passing,
    "unauthorized": _unknown_token,
    "401": _unknown_token,
    "forbidden": _weak_token,
    "token_readonly": _weak_token,
    "403": _weak_token,
    "resource_locked": _locked,
    "deprecated_api_endpoint": _removed,
}
"""What the other errors mean, by their codes."""

_NOT_SOLD_THERE = "unsupported location for server type"
"""What ``invalid_input`` says of a type that a location does not have, or no longer."""


def translated(ask: Callable[[], _Answer]) -> _Answer:
    """Ask once. Raises Passing, SoldOut, Limited, Taken, Gone or UserError, none of the SDK's."""
    try:
        return ask()
    except requests.RequestException as error:
        raise Passing(f"Hetzner Cloud does not answer ({type(error).__name__})") from error
    except APIException as error:
        raise _ours(error) from error


def plain(text: str) -> str:
    """Return somebody's words as one line that a terminal can show."""
    return re.sub(r"[^\x20-\x7e]+", " ", text).strip()[:200]


def _ours(error: APIException) -> Exception:
    said, code = plain(error.message or ""), plain(str(error.code))
    status = error.code if isinstance(error.code, int) else 0
    if code in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Passing(f"Hetzner Cloud: {said} ({code})")
    if _NOT_SOLD_THERE in said:
        return SoldOut(said)
    if code in _MEANING:
        return _MEANING[code](said)
    return UserError(f"Hetzner Cloud: {said} ({code})")
