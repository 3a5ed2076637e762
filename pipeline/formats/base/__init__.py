"""What the readers of result formats share: the values they return, and conversion of units.

Each format is a module with one function, which converts the text and the name of a file to values.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple


class FormatError(ValueError):
    """A result file is not in the expected format; one sentence without the file's name."""


class ImportedValue(NamedTuple):
    """One imported value: one metric of one step at one revision.

    ``unit`` is set only if the metric has no unit of its own. ``revision``, ``made`` (the time of
    the revision), ``measured_at`` (the time of the measurement) and ``machine`` (the machine class)
    are empty or None if the file does not say.
    """

    step: str
    metric: str
    value: float
    unit: str = ""
    group: str = ""
    revision: str = ""
    made: datetime | None = None
    measured_at: datetime | None = None
    machine: str = ""


ReadFormat = Callable[[str, Path], Sequence[ImportedValue]]
"""Reads a result file, given its text and its path. Raises FormatError for another format."""


class ResultFormat(NamedTuple):
    """A result format of another program: its description and its reader."""

    help: str
    read: ReadFormat


TIME = "time_us/o"
RATE = "qps"
CPU = "cpu_us/o"
SCORE, COST = "score", "cost"
"""Metrics for values in a unit that no other metric has: of a score more is better, of a cost
less."""

_US = {
    "ns": 1e-3,
    "us": 1.0,
    "\u00b5s": 1.0,
    "\u03bcs": 1.0,
    "ms": 1e3,
    "s": 1e6,
    "sec": 1e6,
    "min": 60e6,
}
"""Length of each unit of time, in microseconds."""

_TIMED = re.compile(rf"({'|'.join(_US)})(?:/(?:op|iter|iteration))?")
_RATED = re.compile(rf"(?:ops?|iters?|iterations?)/({'|'.join(_US)})")
_KNOWN = {"MB/s": "MB/s", "B/op": "alloc_B/o", "allocs/op": "allocs/o"}

COMMIT = re.compile(r"[0-9a-f]{40}")
_SHORT = 12
"""Digits of a commit's hash in a label, as many as on measured lines."""


def metric_of(unit: str, *, more: bool) -> tuple[str, float, str]:
    """Return the metric for a unit, the factor that converts a value, and the unit to keep.

    Only a score or a cost keeps its unit; otherwise the unit to keep is empty. ``more`` says
    whether more is better, for a unit that does not imply it.
    """
    if (timed := _TIMED.fullmatch(unit)) and not more:
        return TIME, _US[timed[1]], ""
    if rated := _RATED.fullmatch(unit):
        return RATE, 1e6 / _US[rated[1]], ""
    if unit in _KNOWN:
        return _KNOWN[unit], 1.0, ""
    return (SCORE if more else COST), 1.0, unit


def imported_value(
    step: str, value: object, unit: str, *, more: bool = False, **rest: Any
) -> ImportedValue:
    """Convert a value to the metric that its unit implies.

    Raises FormatError if the value is no number.
    """
    metric, factor, left = metric_of(unit, more=more)
    return ImportedValue(step, metric, number(value, step) * factor, left, **rest)


def number(value: object, what: str) -> float:
    """Convert a number, or a text with a number, to a finite number. Raises FormatError."""
    try:
        found = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise FormatError(f"{what}: {value!r} is not a number")
    return found


def label_of(commit: str) -> str:
    """Return the label of a revision: a short commit hash, or any other text unchanged."""
    return commit[:_SHORT] if COMMIT.fullmatch(commit) else commit


def moment(text: object) -> datetime | None:
    """Return the time in an ISO 8601 text, UTC if it has no zone; None for other texts."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def loaded(text: str) -> Any:
    """Parse JSON text. Raises FormatError."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise FormatError(f"the file is not valid JSON: {error}") from error
    except RecursionError as error:
        raise FormatError("the file is not valid JSON: nested too deeply") from error


def table_of(tree: object, key: str) -> list[dict[str, Any]]:
    """Return the list of objects under a key of a JSON object. Raises FormatError without one."""
    found = tree.get(key) if isinstance(tree, dict) else None
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise FormatError(f"the file has no list {key!r}")
    return found


def medians(values: Iterable[ImportedValue]) -> list[ImportedValue]:
    """Return the median for each revision, step and metric.

    Repetitions within one process are not independent, so they count as one measurement.
    """
    groups: dict[tuple[str, str, str], list[ImportedValue]] = {}
    for one in values:
        groups.setdefault((one.revision, one.step, one.metric), []).append(one)
    return [
        group[0]._replace(value=statistics.median(one.value for one in group))
        for group in groups.values()
    ]
