"""Everything in a store, for comparing two of them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, select

from pipeline.storage.measurements import rows
from pipeline.storage.runs import runs, settings_of
from pipeline.storage.schema import metadata
from pipeline.storage.steps import outcomes

Dump = dict[str, list[Any]]


def by_names(engine: Engine) -> Dump:
    """Return everything in the order of the queries, without the ids that ingest gave."""
    return {
        "rows": list(rows(engine)),
        "outcomes": list(outcomes(engine)),
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
