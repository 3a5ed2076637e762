"""What a receiver knows us by: from the environment, and never shown."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping

from requests import PreparedRequest
from requests.auth import AuthBase

from pipeline.errors import UserError


class Credentials(AuthBase):
    """An ``Authorization`` for every request, and the secrets that nobody may read."""

    def __init__(self, scheme: str, value: str, *secrets: str) -> None:
        self._header = f"{scheme} {value}"
        self._secrets = (value, *secrets)

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Put them on a request."""
        request.headers["Authorization"] = self._header
        return request

    def struck_out_of(self, words: str) -> str:
        """Return a receiver's words without the secrets that it may repeat."""
        for secret in self._secrets:
            words = words.replace(secret, "***")
        return words


def bearer(variable: str, environ: Mapping[str, str] = os.environ) -> Credentials:
    """Return the token that an environment variable holds. Raises UserError if it holds none."""
    token = _secret(variable, environ)
    if not token.isascii() or not token.isprintable() or " " in token:
        raise UserError(f"the environment variable {variable} holds no token; set it anew")
    return Credentials("Bearer", token)


def basic(user: str, variable: str, environ: Mapping[str, str] = os.environ) -> Credentials:
    """Return a user with the password that an environment variable holds.

    Raises UserError if it holds none.
    """
    password = _secret(variable, environ)
    return Credentials("Basic", b64encode(f"{user}:{password}".encode()).decode(), password)


def _secret(variable: str, environ: Mapping[str, str]) -> str:
    secret = environ.get(variable, "").strip()
    if not secret:
        raise UserError(
            f"the environment variable {variable}, which [publish] names, is not set; set it to "
            "what the receiver wants"
        )
    return secret
