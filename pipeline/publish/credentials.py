"""Passwords and tokens for receivers, read from the environment and never printed."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping

from requests import PreparedRequest
from requests.auth import AuthBase

from pipeline.text.errors import UserError


class Credentials(AuthBase):
    """What authorises requests to a receiver, and which texts must be hidden."""

    def __init__(self, scheme: str, value: str, *secrets: str) -> None:
        self._header = f"{scheme} {value}"
        self._secrets = (value, *secrets)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Add the authorisation to a request."""
        request.headers["Authorization"] = self._header
        return request

    def redact(self, words: str) -> str:
        """Return a receiver's text without the secrets that it may contain."""
        for secret in self._secrets:
            words = words.replace(secret, "***")
        return words


def bearer(variable: str, environ: Mapping[str, str] = os.environ) -> Credentials:
    """Return credentials with the token in an environment variable.

    Raises UserError if the variable is not set.
    """
    token = _secret(variable, environ)
    if not token.isascii() or not token.isprintable() or " " in token:
        raise UserError(f"the environment variable {variable} holds no valid token; set it again")
    return Credentials("Bearer", token)


def basic(user: str, variable: str, environ: Mapping[str, str] = os.environ) -> Credentials:
    """Return credentials with a user name, and the password in an environment variable.

    Raises UserError if there is none.
    """
    password = _secret(variable, environ)
    return Credentials("Basic", b64encode(f"{user}:{password}".encode()).decode(), password)


def _secret(variable: str, environ: Mapping[str, str]) -> str:
    secret = environ.get(variable, "").strip()
    if not secret:
        raise UserError(
            f"the environment variable {variable} ([publish] secret) is not set; set it to the "
            "password or token of the receiver"
        )
    return secret
