"""All time series to publish, derived from the store, the journal and the record of nights."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from itertools import chain

from sqlalchemy import Engine

from pipeline.measure.plan import Plan
from pipeline.publish.changes import change_facts, regression_facts
from pipeline.publish.health import control_groups, machine_groups, night_groups, server_groups
from pipeline.publish.measured_setups import measured_setups
from pipeline.publish.names import OTHERS
from pipeline.publish.revisions import end_groups, revision_groups, version_groups
from pipeline.publish.revocable import fact_groups
from pipeline.publish.runs import run_groups
from pipeline.publish.samples import SampleGroup, TimedValue, TimeSeries, labelled, milliseconds
from pipeline.regressions.detected import Detected
from pipeline.regressions.states import KnownRegression
from pipeline.storage.night_log import Night
from pipeline.storage.runs import machines
from pipeline.storage.server_log import Life


def all_groups(
    store: Engine,
    plan: Plan,
    detected: Detected | None,
    regressions: Iterable[KnownRegression],
    nights: Iterable[Night],
    servers: Iterable[Life],
    known: Collection[str],
    *,
    pipeline: str,
    watched: Collection[str],
    now: datetime,
) -> Iterator[SampleGroup]:
    """Yield all groups of samples to publish, for a plan and the record of nights.

    ``servers`` are the servers created for nights, in their state at ``now``. ``watched`` are the
    metrics in which controls are compared. ``detected`` is the last detection; if it is None or of
    another plan, no changes are published or withdrawn. ``known`` are the keys that the receiver
    has.
    """
    measured = measured_setups(store, plan)
    yield from night_groups(nights, pipeline)
    yield from server_groups(servers, now)
    yield from machine_groups(measured, machines(store))
    yield from control_groups(store, measured, watched)
    if detected is not None and detected.plan == plan.hash:
        facts = chain(regression_facts(regressions), change_facts(detected.regressions, measured))
        yield from fact_groups(facts, known)
    yield from version_groups(measured)
    yield from end_groups(store, measured)
    yield from revision_groups(store, measured)
    yield from run_groups(store, measured)


def opening(pipeline: str, refused: int, at: datetime) -> list[TimeSeries]:
    """Return the samples to send first: how many samples were refused so far.

    Prometheus (2.42 at least) needs the newest sample first. It compacts the samples in memory as
    soon as they span three hours, which happens when newer samples follow old ones. If the newest
    sample comes first, all others count as late, and are compacted later.
    """
    return [_now("publish_refused_samples", pipeline, at, float(refused))]


def closing(pipeline: str, at: datetime, reaped: datetime | None) -> list[TimeSeries]:
    """Return the last series to send: when this was published, and when the reaper last ran."""
    sent = [_now("publish_timestamp_seconds", pipeline, at, at.timestamp())]
    if reaped is not None:
        sent.append(_now("reap_timestamp_seconds", pipeline, at, reaped.timestamp()))
    return sent


def _now(name: str, pipeline: str, at: datetime, value: float) -> TimeSeries:
    labels = labelled(OTHERS[name].name, pipeline=pipeline)
    return TimeSeries(labels, [TimedValue(milliseconds(at), value)])
