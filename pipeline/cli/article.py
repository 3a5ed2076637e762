"""The verb `article`: write an article about a table, as markdown to edit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import err
from pipeline.cli.options import ConfigOption, QuickOption
from pipeline.config import DEFAULT_FILE
from pipeline.use_cases.article import write_article
from pipeline.use_cases.planning import PlanningContext


@app.command("article")
def article_verb(
    name: Annotated[str, typer.Argument(help="Name of a [[table]] in nightshift.toml.")],
    output: Annotated[
        Path | None, typer.Option(help="Write into this file instead of the terminal.")
    ] = None,
    config: ConfigOption = DEFAULT_FILE,
    quick: QuickOption = False,
) -> None:
    """Write an article about a table, as markdown to edit.

    The table is a [[table]] of the configuration. The article has a summary, builds, hardware,
    workloads, the tables, the cost per operation of each changed step, and the settings that
    differ.

    Example: nightshift article lts-2026 --output lts-2026.md
    """
    text = write_article(PlanningContext(config, quick), name, output)
    if output is None:
        typer.echo(text, nl=False)
    else:
        err.print(f"the article is written to {output}", markup=False)
