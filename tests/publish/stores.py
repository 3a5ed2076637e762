"""A store to publish from: two lines that share a revision, some of whose dates are known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Engine

from pipeline.measure.plan import Plan
from pipeline.publish.all_groups import all_groups
from pipeline.publish.samples import SampleGroup
from pipeline.regressions.detected import Detected
from pipeline.regressions.states import KnownRegression
from tests.site.page_store import make_store

LINES = {"majors": ["16.1", "17.1"], "minors": ["17.1", "17.2", "17.3", "17.1#2"]}
MADE: Mapping[str, datetime] = {
    "16.1": datetime(2022, 5, 1, tzinfo=UTC),
    "17.1": datetime(2023, 5, 1, tzinfo=UTC),
}


def make(folder: Path) -> tuple[Engine, Plan]:
    """Return the store and the plan of its lines."""
    store, plan = make_store(folder, LINES, fails=scan_dies_once)
    return store, dated(plan)


def scan_dies_once(step: str, revision: str, repetition: int) -> str:
    return "died" if (step[:4], revision, repetition) == ("scan", "17.2", 1) else ""


def dated(plan: Plan, dates: Mapping[str, datetime] = MADE) -> Plan:
    """The plan with the dates of some of its revisions."""
    return plan.model_copy(
        update={
            "lines": tuple(
                line.model_copy(
                    update={
                        "revisions": tuple(
                            each.model_copy(update={"at": dates.get(each.label)})
                            for each in line.revisions
                        )
                    }
                )
                for line in plan.lines
            )
        }
    )


def groups_of(
    store: Engine,
    plan: Plan,
    detected: Detected | None,
    regressions: Iterable[KnownRegression],
    known: Collection[str],
) -> Iterator[SampleGroup]:
    """Everything that is published of them; there were no nights and no servers."""
    return all_groups(
        store,
        plan,
        detected,
        regressions,
        (),
        (),
        known,
        pipeline="test",
        watched=("qps",),
        now=datetime(2026, 3, 1, tzinfo=UTC),
    )
