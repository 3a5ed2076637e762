"""The verb `sql`: run a query on the store's views, read-only."""

from __future__ import annotations

import csv
import sys
from enum import StrEnum
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import err, out
from pipeline.cli.options import FORMAT, ConfigOption, QuickOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.storage.queries import Answer, value_text
from pipeline.use_cases.planning import PlanningContext
from pipeline.use_cases.sql import run_query


class AnswerFormat(StrEnum):
    """How the rows of a query are printed: as text, CSV or JSON."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"


@app.command("sql")
def sql_verb(
    query: Annotated[
        str, typer.Argument(help="One SELECT, or - for standard input.", show_default=False)
    ],
    limit: Annotated[
        int, typer.Option(min=1, max=10_000_000, help="Maximum number of rows to print.")
    ] = 1000,
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
    form: Annotated[AnswerFormat, FORMAT] = AnswerFormat.TEXT,
) -> None:
    """Run a read-only query on the views of the store.

    The views are run, measurement, series_point, regression, step_second and function_cost;
    docs/guide/sql.md lists their columns and 20 queries to begin with.

    Example: nightshift sql "SELECT target, count(*) FROM run GROUP BY target" --format csv
    """
    text = sys.stdin.read() if query == "-" else query
    answer = run_query(PlanningContext(config, quick), text, limit)
    _print(answer, form)
    if answer.more:
        err.print(f"only the first {limit} rows are printed; --limit prints more", markup=False)


def _print(answer: Answer, form: AnswerFormat) -> None:
    if form is AnswerFormat.JSON:
        print_json([dict(zip(answer.columns, row, strict=True)) for row in answer.rows])
    elif form is AnswerFormat.CSV:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows([value_text(value) for value in row] for row in answer.rows)
    else:
        out.print(_table(answer), markup=False)


def _table(answer: Answer) -> str:
    """Return rows as text. A terminal wraps wide lines, so no value is cut."""
    columns = []
    for at, name in enumerate(answer.columns):
        values = [row[at] for row in answer.rows]
        texts = [name, *(_shown(value) for value in values)]
        width = max(map(len, texts))
        numbers = all(isinstance(value, int | float) or value is None for value in values)
        columns.append([text.rjust(width) if numbers else text.ljust(width) for text in texts])
    return "\n".join("  ".join(cells).rstrip() for cells in zip(*columns, strict=True))


def _shown(value: object) -> str:
    """Format a value for the eye: six significant digits."""
    return f"{value:.6g}" if isinstance(value, float) else value_text(value)
