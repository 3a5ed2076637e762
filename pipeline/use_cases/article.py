"""Write an article about a table of results, as a draft in markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Engine

from pipeline.experiments.table_columns import ChosenColumn
from pipeline.explain.settings import compare_settings
from pipeline.files.atomic_write import write_atomically
from pipeline.report.article import ArticleColumn, article
from pipeline.report.tables import chosen_subjects
from pipeline.storage.runs import RunRow, runs, settings_of
from pipeline.text.errors import UserError
from pipeline.use_cases.planning import PlanningContext
from pipeline.use_cases.table import (
    TableRequest,
    columns_of_table,
    configured_table,
    grids_of_table,
)


def write_article(context: PlanningContext, name: str, output: Path | None) -> str:
    """Return an article about a table of results; write it to the file ``output`` if given.

    Raises UserError for an unknown table, and for one without results.
    """
    setup = configured_table(context, name)
    columns = columns_of_table(context, setup)
    title = setup.title or setup.name
    subjects = chosen_subjects(context.store, title, columns, setup.groups)
    if not subjects:
        raise UserError(f"the table {name} has no results yet; run `nightshift run --table {name}`")
    text = article(
        title,
        _with_runs(context.store, columns),
        subjects,
        grids_of_table(context, setup, TableRequest()).grids,
        setup.base or setup.columns[0],
        context.config.report,
    )
    if output is not None:
        write_atomically(output, text)
    return text


def _with_runs(store: Engine, columns: Sequence[ChosenColumn]) -> list[ArticleColumn]:
    """Return the measured columns of a table, and how their settings differ."""
    first: dict[str, RunRow] = {}
    found = []
    for column in columns:
        measured = runs(store, cells=[cell.key for cell in column.cells])
        if not measured:
            continue
        run = measured[-1]
        before = first.setdefault(run.target, run)
        differences = None
        if before is not run and before.settings_id is not None and run.settings_id is not None:
            differences = compare_settings(
                settings_of(store, before.settings_id), settings_of(store, run.settings_id)
            )
        found.append(ArticleColumn(column.label, run, differences))
    return found
