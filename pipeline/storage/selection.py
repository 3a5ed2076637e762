"""Parts that many queries of the store share: the selection and the order of runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, Select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from pipeline.storage.schema import run, step, step_run

OLDEST_FIRST = (run.c.started_at, run.c.run_id)
"""The order of runs by time. Row ids would order them by ingest, which a rebuild changes."""


class _Listed(FunctionElement[str]):
    """A list of texts as one JSON parameter, because databases limit the number of parameters."""

    name = "listed"
    inherit_cache = True


@compiles(_Listed)
def _listed(element: _Listed, compiler: SQLCompiler, **options: Any) -> str:
    listed = compiler.process(element.clauses, **options)
    return f"(SELECT value FROM json_each({listed}))"  # noqa: S608 # The name of a parameter.


@compiles(_Listed, "postgresql")
def _listed_postgresql(element: _Listed, compiler: SQLCompiler, **options: Any) -> str:
    listed = compiler.process(element.clauses, **options)
    return f"(SELECT json_array_elements_text(CAST({listed} AS json)))"


def listed_in(wanted: Select[Any], column: Column[Any], texts: Sequence[str]) -> Select[Any]:
    """Limit a query to rows whose column is one of many texts."""
    return wanted.where(column.op("IN")(_Listed(json.dumps(list(texts)))))


def of_runs(
    wanted: Select[Any], cells: Sequence[str] | None, line: str | None = None
) -> Select[Any]:
    """Limit a query to the runs of some cells or of an imported line."""
    if cells is not None:
        wanted = listed_in(wanted, run.c.cell_key, cells)
    return wanted.where(run.c.line == line) if line is not None else wanted


def of_steps(wanted: Select[Any]) -> Select[Any]:
    """Join a query on runs with the steps of the runs."""
    return (
        wanted.select_from(run)
        .join(step_run, step_run.c.run == run.c.id)
        .join(step, step.c.id == step_run.c.step)
    )
