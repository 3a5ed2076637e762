"""Previews: what a sink would send or write, without doing so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import Field

from pipeline.model import Frozen


class Preview(Frozen):
    """A message that a sink would send, or a file that it would write.

    ``method`` is the HTTP method, or "write" for a file; ``place`` is the address or the file,
    without secrets. ``payload`` is the text, or the JSON to send; ``headers`` are those that matter
    to the receiver, without secrets.
    """

    sink: str
    method: str
    place: str
    payload: Any
    headers: dict[str, str] = Field(default_factory=dict)


Show = Callable[[Preview], None]
"""Receives previews. A sink with such a function sends, writes and records nothing; it may read."""
