"""Publish the state of the pipeline itself: nights, servers, machines and controls."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Engine

from pipeline.model import digest
from pipeline.publish.measured_setups import MeasuredSetup, RevisionRuns, published_values
from pipeline.publish.names import OTHERS
from pipeline.publish.samples import SampleGroup, TimedValue, TimeSeries, labelled, milliseconds
from pipeline.storage.night_log import Night
from pipeline.storage.runs import RunHead
from pipeline.storage.server_log import Life, Rent

_MINUTE = 60.0
_TOLD_AGAIN = timedelta(hours=6)


def night_groups(nights: Iterable[Night], pipeline: str) -> Iterator[SampleGroup]:
    """Yield the samples of each night, at the time when it ended."""
    for night in nights:
        yield SampleGroup(
            f"night {pipeline} {night.began.isoformat()}",
            digest(night.model_dump(mode="json")),
            partial(_night, night, pipeline),
        )


def server_groups(lives: Iterable[Life], now: datetime) -> Iterator[SampleGroup]:
    """Yield when each rented server expires; 0 once it is deleted.

    While a server exists, its sample repeats every few hours, so that queries over a day see it.
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
    setups: Iterable[MeasuredSetup], fingerprints: Mapping[str, Mapping[str, Any]]
) -> Iterator[SampleGroup]:
    """Yield which machine measured each run, at the start of the run.

    ``fingerprints`` are those of the machines in the store.
    """
    runs = {
        run.run_id: run for measured in setups for each in measured.standings for run in each.runs
    }
    for run in runs.values():
        machine = fingerprints[run.machine]
        known = {name: machine[name] for name in OTHERS["machine_info"].labels}
        content = digest([known, milliseconds(run.started_at)])
        yield SampleGroup(f"machine {run.run_id}", content, partial(_machine, run, known))


def control_groups(
    store: Engine, setups: Iterable[MeasuredSetup], metrics: Collection[str]
) -> Iterator[SampleGroup]:
    """Yield how much each control differs from the revision that it is a copy of.

    The samples are of the ``metrics``, at the start of the copy's last run.
    """
    for measured in setups:
        standings = {standing.label: standing for standing in measured.standings}
        for copy in measured.standings:
            original = standings.get(copy.label.partition("#")[0])
            if original is not None and original is not copy:
                pair = [original.identity, copy.identity]
                yield SampleGroup(
                    f"control {measured.setup.key} {copy.label}",
                    digest([pair, sorted(metrics), milliseconds(copy.runs[-1].started_at)]),
                    partial(_control, store, measured, original, copy, metrics),
                )


def _night(night: Night, pipeline: str) -> Iterator[TimeSeries]:
    at = milliseconds(night.ended)
    for name, value, more in _figures(night):
        if value is not None:
            labels = labelled(OTHERS[name].name, pipeline=pipeline, **more)
            yield TimeSeries(labels, [TimedValue(at, float(value))])


def _figures(night: Night) -> Iterator[tuple[str, float | None, Mapping[str, str]]]:
    """Yield the published values of a night: name, value and labels."""
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


def _server(key: str, rent: Rent, at: datetime, expires: float) -> SampleGroup:
    labels = labelled(
        OTHERS["server_expires_timestamp_seconds"].name,
        server=rent.name,
        type=rent.type,
        location=rent.location,
    )
    series = [TimeSeries(labels, [TimedValue(milliseconds(at), expires)])]
    return SampleGroup(key, digest([labels, milliseconds(at), expires]), lambda: series)


def _machine(run: RunHead, known: Mapping[str, Any]) -> Iterator[TimeSeries]:
    labels = labelled(OTHERS["machine_info"].name, **known)
    yield TimeSeries(labels, [TimedValue(milliseconds(run.started_at), 1.0)])


def _control(
    store: Engine,
    measured: MeasuredSetup,
    original: RevisionRuns,
    copy: RevisionRuns,
    metrics: Collection[str],
) -> Iterator[TimeSeries]:
    drift = OTHERS["control_drift_ratio"]
    setup = {key: value for key, value in measured.setup._asdict().items() if key in drift.labels}
    at = milliseconds(copy.runs[-1].started_at)
    levels = _levels(store, original, metrics)
    for (step, metric), level in _levels(store, copy, metrics).items():
        if levels.get((step, metric), 0.0) > 0.0:
            labels = labelled(drift.name, **setup, step=step, metric=metric)
            yield TimeSeries(labels, [TimedValue(at, level / levels[step, metric] - 1.0)])


def _levels(
    store: Engine, standing: RevisionRuns, metrics: Collection[str]
) -> dict[tuple[str, str], float]:
    """Return the median of each step and metric over the runs of a revision."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for value in published_values(store, standing.runs):
        if value.metric in metrics:
            found[value.step, value.metric].append(value.value)
    return {key: statistics.median(values) for key, values in found.items()}
