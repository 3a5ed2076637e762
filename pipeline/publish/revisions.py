"""Publish values at the time of a revision: medians of its runs, and relative QPS."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial

from sqlalchemy import Engine

from changepoint import compare
from pipeline.model import digest
from pipeline.publish.measured_setups import MeasuredSetup, RevisionRuns, published_values
from pipeline.publish.names import COMPARED, FIGURES, OTHERS, RELATIVE, REVISION, VERSION, full_name
from pipeline.publish.samples import SampleGroup, TimedValue, TimeSeries, labelled, milliseconds

_THROUGHPUT = "qps"

_LARGEST = 1e300
"""Largest value that :func:`changepoint.compare` accepts. A larger value is a defect: its interval
is left out, so that the other values are still published."""

Figures = Mapping[tuple[str, str], Mapping[str, Sequence[float]]]
"""Values of the runs by (step, group) and metric."""


def revision_groups(store: Engine, setups: Iterable[MeasuredSetup]) -> Iterator[SampleGroup]:
    """Yield the samples of each revision of each setup, in line order.

    A revision whose time is unknown has no samples at the time of the revision. Its series with the
    revision as a label have the time of its first run.
    """
    for measured in setups:
        # The base is the same for every revision, so it is read once.
        base = cache(partial(_figures, store, measured.standings[0]))
        for standing in measured.standings:
            yield _group(store, measured, standing, base)


def end_groups(store: Engine, setups: Iterable[MeasuredSetup]) -> Iterator[SampleGroup]:
    """Yield the throughput of the first and the newest revision of each setup.

    Which revision is first and which is newest depends on positions, not on times, because releases
    of one day have the same time.
    """
    for measured in setups:
        ends = {"first": measured.standings[0], "newest": measured.standings[-1]}
        content = [standing.identity for standing in ends.values()]
        at = milliseconds(measured.standings[-1].runs[-1].started_at)
        key = measured.setup.key
        yield SampleGroup(
            f"ends {key}", digest([content, at]), partial(_ends, store, measured, ends, at)
        )


def _ends(
    store: Engine, measured: MeasuredSetup, ends: Mapping[str, RevisionRuns], at: int
) -> Iterator[TimeSeries]:
    for end, standing in ends.items():
        name = OTHERS[f"{end}_{FIGURES[_THROUGHPUT].name}"].name
        for (step, group), metrics in _figures(store, standing).items():
            if _THROUGHPUT in metrics:
                value = statistics.median(metrics[_THROUGHPUT])
                yield TimeSeries(measured.label(name, step, group), [TimedValue(at, value)])


def version_groups(setups: Iterable[MeasuredSetup]) -> Iterator[SampleGroup]:
    """Yield where each revision is on its line, and when it was made."""
    placed: dict[tuple[str, str, str], RevisionRuns] = {}
    for measured in setups:
        for standing in measured.standings:
            key = (measured.setup.line, measured.setup.target, standing.label)
            known = placed.get(key, standing)
            placed[key] = min(known, standing, key=lambda each: each.first_run)
    for (line, target, label), standing in placed.items():
        yield _version(standing, {"line": line, "target": target, "revision": label})


def _version(standing: RevisionRuns, known: Mapping[str, str]) -> SampleGroup:
    at = milliseconds(standing.made or standing.first_run)
    values = [("version_position", float(standing.position))]
    if standing.made is not None:
        values.append(("version_timestamp_seconds", standing.made.timestamp()))
    series = [
        TimeSeries(labelled(OTHERS[name].name, **known), [TimedValue(at, value)])
        for name, value in values
    ]
    return SampleGroup(f"version {' '.join(known.values())}", digest([at, values]), lambda: series)


def _group(
    store: Engine, measured: MeasuredSetup, standing: RevisionRuns, base: Callable[[], Figures]
) -> SampleGroup:
    first = measured.standings[0]

    def series() -> Iterator[TimeSeries]:
        for (step, group), metrics in _figures(store, standing).items():
            yield from _figures_of(measured, standing, step, group, metrics)
            compared = base().get((step, group), {}).get(_THROUGHPUT, ())
            if _THROUGHPUT in metrics and compared and standing.made is not None:
                at = milliseconds(standing.made)
                for stat, value in _relative(compared, metrics[_THROUGHPUT], standing is first):
                    name = OTHERS[f"{REVISION}_{RELATIVE}"].name
                    labels = measured.label(name, step, group, stat=stat)
                    yield TimeSeries(labels, [TimedValue(at, value)])

    content = digest(
        [
            standing.identity,
            first.identity,
            standing.made,
            standing.first_run,
        ]
    )
    key = f"{measured.setup.key} {standing.label}"
    return SampleGroup(f"revision {key}", content, series)


def _figures_of(
    measured: MeasuredSetup,
    standing: RevisionRuns,
    step: str,
    group: str,
    metrics: Mapping[str, Sequence[float]],
) -> Iterator[TimeSeries]:
    for metric, values in metrics.items():
        figure = FIGURES[metric]
        median = statistics.median(values) * figure.factor
        if standing.made is not None:
            labels = measured.figure(REVISION, metric, step, group)
            yield TimeSeries(labels, [TimedValue(milliseconds(standing.made), median)])
        if metric in COMPARED:
            name = full_name(VERSION, figure)
            more = {**figure.labels, "revision": standing.label}
            labels = measured.label(name, step, group, **more)
            at = milliseconds(standing.made or standing.first_run)
            yield TimeSeries(labels, [TimedValue(at, median)])


def _relative(
    base: Sequence[float], values: Sequence[float], same: bool
) -> Iterator[tuple[str, float]]:
    """Yield a revision's QPS relative to the base, with its 95 % interval if there is one."""
    level = statistics.median(base)
    if level <= 0:
        return
    yield "median", statistics.median(values) / level
    comparable = all(abs(value) < _LARGEST for value in (*base, *values))
    if not same and len(base) > 1 and len(values) > 1 and comparable:
        bounds = compare(base, values, smallest_effect=0.0).ratio_interval
        yield from (
            (stat, bound)
            for stat, bound in zip(("low", "high"), bounds, strict=True)
            if math.isfinite(bound)
        )


def _figures(store: Engine, standing: RevisionRuns) -> Figures:
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(dict)
    for value in published_values(store, standing.runs):
        found[value.step, value.group].setdefault(value.metric, []).append(value.value)
    return found
