"""Options of the command line that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pipeline.text.errors import UserError

ConfigOption = Annotated[
    Path, typer.Option("--config", "-c", help="The configuration file.", show_default=True)
]
QuickOption = Annotated[
    bool,
    typer.Option(
        "--quick", help="Use the settings of [quick]: a real but short night, about two minutes."
    ),
]


class Format(StrEnum):
    """How a verb prints its result: as text or as JSON."""

    TEXT = "text"
    JSON = "json"


FORMAT = typer.Option("--format", help="Output format.")
"""The option --format of a verb, whose type lists the formats."""

FormatOption = Annotated[Format, FORMAT]
RunOption = Annotated[
    str,
    typer.Option(
        "--run",
        metavar="ID",
        help="Id of the workflow run that hands out the jobs; another attempt of the same run "
        "hands out the same batches.",
    ),
]


def read_option(name: str, text: str, parse: Callable[[str], float]) -> float:
    """Parse an option with a unit, as ``90s`` or ``5%``; it must be above zero."""
    try:
        value = parse(text)
    except ValueError as error:
        raise UserError(f"--{name}: {error}") from error
    if value <= 0:
        raise UserError(f"--{name} must be above zero, not {text}")
    return value
