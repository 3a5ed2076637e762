"""Everything in a store, for comparing two of them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, select

from pipeline.store.queries import outcomes, rows, runs, settings_of
from pipeline.store.schema import metadata

Dump = dict[str, list[Any]]


def by_names(engine: Engine) -> Dump:
    """Return everything in the order of the queries, without the ids that ingest gave."""
    return {
        "rows": list(rows(engine)),
        "outcomes": outcomes(engine),
        "runs": [run._replace(settings_id=None) for run in runs(engine)],
        "settings": [
            settings_of(engine, run.settings_id) if run.settings_id is not None else None
            for run in runs(engine)
        ],
    }


def with_ids(engine: Engine) -> Dump:
    """Return every row of every table as it stands there."""
    with engine.connect() as connection:
        return {
            table.name: [
                tuple(row)
                for row in connection.execute(select(table).order_by(*table.primary_key.columns))
            ]
            for table in metadata.sorted_tables
        }
