"""The view by revision time: medians over the runs of a revision, and rQPS with its interval."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial

from sqlalchemy import Engine

from changepoint import compare
from pipeline.model import digest
from pipeline.publish.names import COMPARED, FIGURES, OTHERS, RELATIVE, REVISION, VERSION, full_name
from pipeline.publish.samples import Group, Sample, TimeSeries, labelled, milliseconds
from pipeline.publish.strands import Standing, Strand, published_values

_THROUGHPUT = "qps"

_LARGEST = 1e300
"""What :func:`changepoint.compare` takes. Such a value is a defect, and must not stop the rest."""

Figures = Mapping[tuple[str, str], Mapping[str, Sequence[float]]]
"""Values of the runs by (step, group) and metric."""


def revision_groups(store: Engine, strands: Iterable[Strand]) -> Iterator[Group]:
    """Yield a group for each revision of each strand, in the order of the line.

    A revision of which it is not known when it was made is in no series by that time; its series
    with the revision as a label have the time of its first run.
    """
    for strand in strands:
        # Every revision is compared with the same one: it is read once.
        base = cache(partial(_figures, store, strand.standings[0]))
        for standing in strand.standings:
            yield _group(store, strand, standing, base)


def end_groups(store: Engine, strands: Iterable[Strand]) -> Iterator[Group]:
    """Yield a group for each strand: the throughput of its first and of its newest revision.

    Which of them is the newest their places say, and no time: releases of one day have none.
    """
    for strand in strands:
        ends = {"first": strand.standings[0], "newest": strand.standings[-1]}
        said = [standing.said for standing in ends.values()]
        at = milliseconds(strand.standings[-1].runs[-1].started_at)
        key = " ".join(map(str, strand.setup))
        yield Group(f"ends {key}", digest([said, at]), partial(_ends, store, strand, ends, at))


def _ends(
    store: Engine, strand: Strand, ends: Mapping[str, Standing], at: int
) -> Iterator[TimeSeries]:
    for end, standing in ends.items():
        name = OTHERS[f"{end}_{FIGURES[_THROUGHPUT].name}"].name
        for (step, group), metrics in _figures(store, standing).items():
            if _THROUGHPUT in metrics:
                value = statistics.median(metrics[_THROUGHPUT])
                yield TimeSeries(strand.label(name, step, group), [Sample(at, value)])


def version_groups(strands: Iterable[Strand]) -> Iterator[Group]:
    """Yield a group for each revision of each line: its place, and when it was made."""
    placed: dict[tuple[str, str, str], Standing] = {}
    for strand in strands:
        for standing in strand.standings:
            key = (strand.setup.line, strand.setup.target, standing.label)
            known = placed.get(key, standing)
            placed[key] = min(known, standing, key=lambda each: each.first_run)
    for (line, target, label), standing in placed.items():
        yield _version(standing, {"line": line, "target": target, "revision": label})


def _version(standing: Standing, known: Mapping[str, str]) -> Group:
    at = milliseconds(standing.made or standing.first_run)
    told = [("version_position", float(standing.position))]
    if standing.made is not None:
        told.append(("version_timestamp_seconds", standing.made.timestamp()))
    series = [
        TimeSeries(labelled(OTHERS[name].name, **known), [Sample(at, value)])
        for name, value in told
    ]
    return Group(f"version {' '.join(known.values())}", digest([at, told]), lambda: series)


def _group(store: Engine, strand: Strand, standing: Standing, base: Callable[[], Figures]) -> Group:
    first = strand.standings[0]

    def series() -> Iterator[TimeSeries]:
        for (step, group), metrics in _figures(store, standing).items():
            yield from _figures_of(strand, standing, step, group, metrics)
            compared = base().get((step, group), {}).get(_THROUGHPUT, ())
            if _THROUGHPUT in metrics and compared and standing.made is not None:
                at = milliseconds(standing.made)
                for stat, value in _relative(compared, metrics[_THROUGHPUT], standing is first):
                    name = OTHERS[f"{REVISION}_{RELATIVE}"].name
                    labels = strand.label(name, step, group, stat=stat)
                    yield TimeSeries(labels, [Sample(at, value)])

    said = digest(
        [
            standing.said,
            first.said,
            standing.made,
            standing.first_run,
        ]
    )
    key = " ".join(map(str, (*strand.setup, standing.label)))
    return Group(f"revision {key}", said, series)


def _figures_of(
    strand: Strand,
    standing: Standing,
    step: str,
    group: str,
    metrics: Mapping[str, Sequence[float]],
) -> Iterator[TimeSeries]:
    for metric, values in metrics.items():
        figure = FIGURES[metric]
        median = statistics.median(values) * figure.factor
        if standing.made is not None:
            labels = strand.figure(REVISION, metric, step, group)
            yield TimeSeries(labels, [Sample(milliseconds(standing.made), median)])
        if metric in COMPARED:
            name = full_name(VERSION, figure)
            more = {**figure.labels, "revision": standing.label}
            labels = strand.label(name, step, group, **more)
            at = milliseconds(standing.made or standing.first_run)
            yield TimeSeries(labels, [Sample(at, median)])


def _relative(
    base: Sequence[float], values: Sequence[float], same: bool
) -> Iterator[tuple[str, float]]:
    """Yield the ratio of the medians, and its 95 % interval where there is one."""
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


def _figures(store: Engine, standing: Standing) -> Figures:
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(dict)
    for value in published_values(store, standing.runs):
        found[value.step, value.group].setdefault(value.metric, []).append(value.value)
    return found
