"""How the pipeline itself is: its nights, its servers, the machines it ran on, its controls."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Engine

from pipeline.model import digest
from pipeline.nights import Night
from pipeline.publish.names import OTHERS
from pipeline.publish.samples import Group, Sample, TimeSeries, labelled, milliseconds
from pipeline.publish.strands import Standing, Strand, published_values
from pipeline.servers import Life, Rent
from pipeline.store.queries import RunHead

_MINUTE = 60.0
_TOLD_AGAIN = timedelta(hours=6)


def night_groups(nights: Iterable[Night], pipeline: str) -> Iterator[Group]:
    """Yield a group for each night of a pipeline of a name; its samples are at the night's end."""
    for night in nights:
        yield Group(
            f"night {pipeline} {night.began.isoformat()}",
            digest(night.model_dump(mode="json")),
            partial(_night, night, pipeline),
        )


def server_groups(lives: Iterable[Life], now: datetime) -> Iterator[Group]:
    """Yield groups that tell of each server until when it may live, and 0 once it is gone.

    That is told again every few hours while it is there: who looks back no longer than a day has
    to see it.
    """
    for life in lives:
        rent = life.rent
        key = f"server {rent.number} {rent.made.isoformat()}"
        at = rent.made
        while at < (life.ended or now):
            yield _server(f"{key} {at.isoformat()}", rent, at, rent.expires.timestamp())
            at += _TOLD_AGAIN
        if life.ended is not None:
            yield _server(f"{key} gone", rent, life.ended, 0.0)


def machine_groups(
    strands: Iterable[Strand], fingerprints: Mapping[str, Mapping[str, Any]]
) -> Iterator[Group]:
    """Yield a group for each run, which tells at its start what it ran on.

    ``fingerprints`` are those of the machines, as the store has them.
    """
    runs = {run.run_id: run for strand in strands for each in strand.standings for run in each.runs}
    for run in runs.values():
        machine = fingerprints[run.machine]
        known = {name: machine[name] for name in OTHERS["machine_info"].labels}
        said = digest([known, milliseconds(run.started_at)])
        yield Group(f"machine {run.run_id}", said, partial(_machine, run, known))


def control_groups(
    store: Engine, strands: Iterable[Strand], metrics: Collection[str]
) -> Iterator[Group]:
    """Yield a group for each control: how far a copy, as 17.11#2, is from the revision itself.

    The samples are of the ``metrics``, at the start of the copy's last run.
    """
    for strand in strands:
        standings = {standing.label: standing for standing in strand.standings}
        for copy in strand.standings:
            original = standings.get(copy.label.partition("#")[0])
            if original is not None and original is not copy:
                pair = [original.said, copy.said]
                yield Group(
                    f"control {' '.join(map(str, (*strand.setup, copy.label)))}",
                    digest([pair, sorted(metrics), milliseconds(copy.runs[-1].started_at)]),
                    partial(_control, store, strand, original, copy, metrics),
                )


def _night(night: Night, pipeline: str) -> Iterator[TimeSeries]:
    at = milliseconds(night.ended)
    for name, value, more in _figures(night):
        if value is not None:
            labels = labelled(OTHERS[name].name, pipeline=pipeline, **more)
            yield TimeSeries(labels, [Sample(at, float(value))])


def _figures(night: Night) -> Iterator[tuple[str, float | None, Mapping[str, str]]]:
    """Yield what a night says: a published name, its value, and the labels beside the pipeline."""
    yield "night_timestamp_seconds", night.ended.timestamp(), {}
    yield "night_duration_seconds", night.seconds, {}
    yield "night_success", float(not night.error), {}
    for check in night.preflight:
        yield "night_preflight", 1.0, {"check": check}
    yield "night_runs", night.runs, {}
    yield "night_failed_steps", night.failed_steps, {}
    yield "night_unbuilt", night.unbuilt, {}
    yield "night_queue_runs", night.queue, {}
    yield "night_series", night.series, {}
    for stage, seconds in night.stages.items():
        yield "night_stage_seconds", seconds, {"stage": stage}
    for state, count in night.regressions.items():
        yield "night_regressions", count, {"state": state.value}
    for on, seconds in night.spent.items():
        yield "night_spent_seconds", seconds, {"on": on}
    for on, seconds in night.budget.items():
        yield "night_budget_seconds", seconds, {"on": on}
    for on, minutes in night.spent_so_far.items():
        yield "spent_seconds", minutes * _MINUTE, {"on": on}
    if night.money is not None:
        yield "spent_money", night.money.amount, {"currency": night.money.currency}
    for verdict, count in night.alarms.items():
        yield "alarms", count, {"verdict": verdict}


def _server(key: str, rent: Rent, at: datetime, expires: float) -> Group:
    labels = labelled(
        OTHERS["server_expires_timestamp_seconds"].name,
        server=rent.name,
        type=rent.type,
        location=rent.location,
    )
    series = [TimeSeries(labels, [Sample(milliseconds(at), expires)])]
    return Group(key, digest([labels, milliseconds(at), expires]), lambda: series)


def _machine(run: RunHead, known: Mapping[str, Any]) -> Iterator[TimeSeries]:
    labels = labelled(OTHERS["machine_info"].name, **known)
    yield TimeSeries(labels, [Sample(milliseconds(run.started_at), 1.0)])


def _control(
    store: Engine, strand: Strand, original: Standing, copy: Standing, metrics: Collection[str]
) -> Iterator[TimeSeries]:
    drift = OTHERS["control_drift_ratio"]
    setup = {key: value for key, value in strand.setup._asdict().items() if key in drift.labels}
    at = milliseconds(copy.runs[-1].started_at)
    levels = _levels(store, original, metrics)
    for (step, metric), level in _levels(store, copy, metrics).items():
        if levels.get((step, metric), 0.0) > 0.0:
            labels = labelled(drift.name, **setup, step=step, metric=metric)
            yield TimeSeries(labels, [Sample(at, level / levels[step, metric] - 1.0)])


def _levels(
    store: Engine, standing: Standing, metrics: Collection[str]
) -> dict[tuple[str, str], float]:
    """Return the medians over the runs of a revision, by step and metric."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for value in published_values(store, standing.runs):
        if value.metric in metrics:
            found[value.step, value.metric].append(value.value)
    return {key: statistics.median(values) for key, values in found.items()}
