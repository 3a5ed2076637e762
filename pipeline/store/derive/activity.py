"""What the DBMS did beside the statements, over the time of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from pipeline.model import FieldKind, Sample

PREFIX = "dbms."
"""Begins the names of what a DBMS tells of itself."""


def activity(
    samples: Sequence[Sample], sampled: Mapping[str, str]
) -> dict[str, list[tuple[float, float]]]:
    """Return (seconds since the start, value) of all that the DBMS told, by name.

    ``sampled`` says what each figure is, as the manifest does. A gauge stands as it was told. Of
    a counter it is the growth per second since the sample before, and its name ends with ``/s``;
    a second in which it went back has none.
    """
    told: dict[str, list[tuple[float, float]]] = {}
    for at, values in samples:
        for name, value in values.items():
            if name.startswith(PREFIX):
                told.setdefault(name, []).append((at, value))
    found = {}
    for name, points in told.items():
        short = name.removeprefix(PREFIX)
        if sampled.get(name, "").startswith(FieldKind.COUNTER.value):
            found[f"{short}/s"] = _rates(points)
        else:
            found[short] = [(round(at, 3), value) for at, value in points]
    return found


def _rates(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    return [
        (round(end, 3), _six_digits((after - before) / (end - begin)))
        for (begin, before), (end, after) in pairwise(points)
        if after >= before and end > begin
    ]


def _six_digits(rate: float) -> float:
    """Leave out what no reading tells, and every page would have to hold."""
    return float(f"{rate:.6g}")
