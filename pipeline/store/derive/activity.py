"""What the DBMS did beside the statements, over the time of a step."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.model import Sample

PREFIX = "dbms."
"""Begins the names of what a DBMS tells of itself."""


def activity(samples: Sequence[Sample]) -> dict[str, list[tuple[float, float]]]:
    """Return (seconds since the start, value) of all that the DBMS told, by name."""
    found: dict[str, list[tuple[float, float]]] = {}
    for at, values in samples:
        for name, value in values.items():
            if name.startswith(PREFIX):
                found.setdefault(name.removeprefix(PREFIX), []).append((round(at, 3), value))
    return found
