"""Everything that is published, group by group: derived from the store, the journal, the nights."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from itertools import chain

from sqlalchemy import Engine

from pipeline.analyse.detected import Detected
from pipeline.execute.plan import Plan
from pipeline.nights import Night
from pipeline.publish.changes import change_facts, regression_facts
from pipeline.publish.facts import fact_groups
from pipeline.publish.health import control_groups, machine_groups, night_groups, server_groups
from pipeline.publish.names import OTHERS
from pipeline.publish.revisions import end_groups, revision_groups, version_groups
from pipeline.publish.runs import run_groups
from pipeline.publish.samples import Group, Sample, TimeSeries, labelled, milliseconds
from pipeline.publish.strands import strands
from pipeline.servers import Life
from pipeline.store.queries import machines
from pipeline.store.regressions import RegressionRow


def all_groups(
    store: Engine,
    plan: Plan,
    detected: Detected | None,
    regressions: Iterable[RegressionRow],
    nights: Iterable[Night],
    servers: Iterable[Life],
    known: Collection[str],
    *,
    pipeline: str,
    watched: Collection[str],
    now: datetime,
) -> Iterator[Group]:
    """Yield the groups of a plan's lines, and of the ``nights`` of the ``pipeline`` of this name.

    ``servers`` are those that were made for nights, told as they are ``now``.
    ``watched`` are the metrics in which controls are compared. ``detected`` is what the last
    detection found; where it is None, or of another plan, nothing is said of changes, neither that
    they are there nor that they are gone. ``known`` are the keys that the receiver has.
    """
    measured = strands(store, plan)
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
    """Return what a receiver is told first: how many samples it has ever refused, as of now.

    That the newest sample comes first matters to Prometheus (2.42 at least). It compacts what it
    holds in memory as soon as that spans three hours, which old samples in front of newer ones do.
    Behind a newest sample all others are late, and compacted later.
    """
    return [_now("publish_refused_samples", pipeline, at, float(refused))]


def closing(pipeline: str, at: datetime) -> list[TimeSeries]:
    """Return what a receiver is told last: that all was published, now."""
    return [_now("publish_timestamp_seconds", pipeline, at, at.timestamp())]


def _now(name: str, pipeline: str, at: datetime, value: float) -> TimeSeries:
    labels = labelled(OTHERS[name].name, pipeline=pipeline)
    return TimeSeries(labels, [Sample(milliseconds(at), value)])
