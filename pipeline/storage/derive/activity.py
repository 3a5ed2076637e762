"""The background activity of the DBMS during a step (vacuum, checkpoints), over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from pipeline.model import WAIT_FIELD, FieldKind, ProbeSample

PREFIX = "dbms."
"""The prefix of the fields that a DBMS reports."""


def activity(
    samples: Sequence[ProbeSample], sampled: Mapping[str, str]
) -> dict[str, list[tuple[float, float]]]:
    """Return the DBMS's activity over time, by name: pairs (seconds since the step's start, value).

    ``sampled`` is the kind of each field (gauge or counter), as in the manifest. A gauge is
    returned unchanged. A counter is converted to its growth per second since the previous sample,
    and ``/s`` is appended to its name; intervals in which it decreased are left out. A wait event
    that is missing in a sample is 0 there, because a DBMS reports only the events that sessions
    wait for.
    """
    reported: dict[str, list[tuple[float, float]]] = {}
    events = {name for _, values in samples for name in values if name.startswith(WAIT_FIELD)}
    none = dict.fromkeys(sorted(events), 0.0)
    for at, read in samples:
        answered = any(name.startswith(PREFIX) for name in read)
        values = {**none, **read} if answered else read
        for name, value in values.items():
            if name.startswith(PREFIX):
                reported.setdefault(name, []).append((at, value))
    found = {}
    for name, points in reported.items():
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
    """Round a value to six significant digits: more are noise and make every page larger."""
    return float(f"{rate:.6g}")
