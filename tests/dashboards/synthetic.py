"""Samples of every published name, with all of its labels, as a line of two revisions has them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from pipeline.model import RegressionState
from pipeline.model.counts import INSTRUCTIONS
from pipeline.publish.names import (
    COMPARED,
    FIGURES,
    OTHERS,
    RELATIVE,
    REVISION,
    RUN,
    SERIES_LABELS,
    VERSION,
    full_name,
)
from pipeline.publish.revocable import TAKEN_BACK
from pipeline.publish.samples import TimedValue, TimeSeries, labelled

REVISIONS = ("17.0", "17.1")
VALUES = {"17.0": 10.0, "17.1": 20.0}
GONE = "taken back"
SERIES: Mapping[str, str] = {
    **dict.fromkeys(SERIES_LABELS, "one"),
    "mode": "",
    "line": 'a "quoted\\" line',
    "clients": "1",
    "step": "read-only_range=100",
}
COUNTED = {"mode": "count", "workload": "counts"}
"""What the series of counted steps have instead."""

LABELS: Mapping[str, tuple[str, ...]] = {
    "revision": REVISIONS,
    "stat": ("median", "low", "high"),
    "state": tuple(RegressionState),
    "worse": ("true", "false"),
    "on": ("confirm", "bisect"),
    "metric": ("qps", "cpu_us/o"),
}
"""Labels that have several values; every other has one."""

HOUR = 3_600_000


def series() -> Iterator[TimeSeries]:
    """Yield every series, with a sample of three days ago and one of an hour ago."""
    for view in (RUN, REVISION):
        for figure in FIGURES.values():
            yield _of(full_name(view, figure), {**SERIES, **figure.labels})
    instructions = FIGURES[INSTRUCTIONS]
    for view in (RUN, REVISION):
        yield _of(full_name(view, instructions), {**SERIES, **instructions.labels, **COUNTED})
    for revision in REVISIONS:
        labels = {**SERIES, **instructions.labels, **COUNTED, "revision": revision}
        yield _of(full_name(VERSION, instructions), labels, VALUES[revision])
    for view in (RUN, REVISION):
        point = OTHERS[f"{view}_change_point_effect_ratio"]
        for labels in _all(point.labels):
            yield _of(point.name, {**labels, **COUNTED, "metric": INSTRUCTIONS}, 0.44)
    for metric in COMPARED:
        figure = FIGURES[metric]
        for revision in REVISIONS:
            labels = {**SERIES, **figure.labels, "revision": revision}
            yield _of(full_name(VERSION, figure), labels, VALUES[revision])
    for name, other in OTHERS.items():
        for labels in _all(other.labels):
            yield _of(other.name, labels, _value(name, labels))


def _all(names: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """Yield every combination of what the labels can be."""
    if not names:
        yield {}
        return
    for rest in _all(names[1:]):
        for value in LABELS.get(names[0], (SERIES.get(names[0], "one"),)):
            yield {names[0]: value, **rest}


def _value(name: str, labels: Mapping[str, str]) -> float:
    if name.endswith("timestamp_seconds"):
        return time.time() - 3600
    if name == "version_position":
        return float(REVISIONS.index(labels["revision"]))
    if name == "newest_operations_per_second":
        return 25.0
    if name == "regression_state":
        open_ones = {"true": "confirmed", "false": "suspected"}
        return float(labels["state"] == open_ones[labels["worse"]])
    if name.endswith("_effect_ratio"):
        return -0.12
    return 0.9 if name == f"{REVISION}_{RELATIVE}" else 12.5


def taken_back() -> Iterator[TimeSeries]:
    """Yield a regression and its change points that were published and are no longer true."""
    at = round(time.time() * 1000) - 48 * HOUR
    gone = {"fingerprint": GONE, "worse": "true", "state": "confirmed", "metric": "qps"}
    for name in (
        "run_change_point_effect_ratio",
        "revision_change_point_effect_ratio",
        "regression_state",
        "regression_effect_ratio",
    ):
        other = OTHERS[name]
        labels = {label: {**SERIES, **gone}.get(label, "gone") for label in other.labels}
        samples = [TimedValue(at, 1.0), TimedValue(at + 1, TAKEN_BACK)]
        yield TimeSeries(labelled(other.name, **labels), samples)


def _of(name: str, labels: Mapping[str, str], value: float = 12.5) -> TimeSeries:
    now = round(time.time() * 1000)
    samples = [TimedValue(now - 72 * HOUR, value), TimedValue(now - HOUR, value)]
    return TimeSeries(labelled(name, **labels), samples)
