"""Decide which runs are old enough to remove, by age and by number of nights."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Engine, select

from pipeline.model import Origin
from pipeline.storage.schema import run


class StoredRun(NamedTuple):
    """A measured run in the store; ``control`` is None if it is not a run of a control."""

    run_id: str
    target: str
    revision: str
    cell_key: str
    control: str | None
    started_at: datetime


def stored_runs(store: Engine) -> list[StoredRun]:
    """Return the measured runs of a store, oldest first, without imported ones."""
    columns = [run.c[name] for name in StoredRun._fields]
    wanted = select(*columns).where(run.c.origin == Origin.MEASURED.value)
    with store.connect() as connection:
        rows = connection.execute(wanted.order_by(run.c.started_at, run.c.run_id))
        return [StoredRun(*row) for row in rows]


def limit_of(runs: list[StoredRun], now: datetime, days: int, nights: int) -> datetime:
    """Return the time before which runs are old: ``days`` ago, or earlier to keep some nights.

    Runs of the newest ``nights`` nights are kept. A night is a day (UTC) on which a run began.
    """
    limit = now - timedelta(days=days)
    if nights:
        begun = sorted({one.started_at.date() for one in runs})[-nights:]
        first = next((one.started_at for one in runs if one.started_at.date() in begun[:1]), limit)
        limit = min(limit, first)
    return limit
