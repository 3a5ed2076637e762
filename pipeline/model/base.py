"""The base of all vocabulary types, and the digest of a value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

MOST = 2**31 - 1
"""The largest integer that a column of every kind of store (SQLite, PostgreSQL) can hold."""


class Frozen(BaseModel):
    """Base of all vocabulary types: immutable, and strict about unknown fields."""

    # JSON has no infinity, but an effect relative to a level of zero is infinite.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some fields changed, without cached properties of the original."""
        copied = super().model_copy(update=update, deep=deep)
        for derived in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[derived]
        return copied


# One for all: a plan of five years has thousands of digests.
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str)


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON: equal values have equal digests."""
    return hashlib.sha256(_CANONICAL.encode(value).encode()).hexdigest()
