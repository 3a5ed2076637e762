"""What would be sent, for those who want to see it before it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import Field

from pipeline.model import Frozen


class Preview(Frozen):
    """Something that a sink would send or write.

    ``method`` is that of HTTP, or "write" of a file; ``place`` the address or the file, without
    what is secret in it. ``payload`` is the text, or what is sent as JSON; ``headers`` are those
    that matter to whoever receives it, without secrets.
    """

    sink: str
    method: str
    place: str
    payload: Any
    headers: dict[str, str] = Field(default_factory=dict)


Show = Callable[[Preview], None]
"""Takes what would be sent. A sink that is given one sends nothing, writes nothing and notes
nothing; it may read."""
