"""Everything that is published, group by group: derived from the store, the journal, the nights."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from itertools import chain

from sqlalchemy import Engine

from pipeline.analyse.detection import Detected
from pipeline.execute.plan import Plan
from pipeline.publish.changes import change_facts, regression_facts
from pipeline.publish.facts import fact_groups
from pipeline.publish.names import OTHERS
from pipeline.publish.revisions import revision_groups, version_groups
from pipeline.publish.runs import run_groups
from pipeline.publish.samples import Group, Sample, TimeSeries, labelled, milliseconds
from pipeline.publish.strands import strands
from pipeline.store.regressions import RegressionRow


def all_groups(
    store: Engine,
    plan: Plan,
    detected: Detected | None,
    regressions: Iterable[RegressionRow],
    health: Iterable[Group],
    known: Collection[str],
) -> Iterator[Group]:
    """Yield the groups of a plan's lines and of the pipeline's ``health``.

    ``detected`` is what the last detection found; where it is None, or of another plan, nothing is
    said of changes, neither that they are there nor that they are gone. ``known`` are the keys that
    the receiver has.
    """
    measured = strands(store, plan)
    yield from health
    if detected is not None and detected.plan == plan.hash:
        facts = chain(regression_facts(regressions), change_facts(detected.regressions, measured))
        yield from fact_groups(facts, known)
    yield from version_groups(measured)
    yield from revision_groups(store, measured)
    yield from run_groups(store, measured)


def heartbeat(pipeline: str, refused: int, at: datetime) -> list[TimeSeries]:
    """Return that something was published now, and how many samples were ever refused."""
    told = {
        "publish_timestamp_seconds": at.timestamp(),
        "publish_refused_samples": float(refused),
    }
    return [
        TimeSeries(
            labelled(OTHERS[name].name, pipeline=pipeline), [Sample(milliseconds(at), value)]
        )
        for name, value in told.items()
    ]
