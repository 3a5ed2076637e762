"""Options that several verbs have."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pipeline.errors import UserError

ConfigOption = Annotated[
    Path, typer.Option("--config", "-c", help="The configuration file.", show_default=True)
]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="Use the [quick] settings: a real night in two minutes.")
]


class Format(StrEnum):
    """How results are printed."""

    TEXT = "text"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="How results are printed.")]


def read_option(name: str, text: str, parse: Callable[[str], float]) -> float:
    """Read an option that has a unit, above zero. Raises UserError for any other."""
    try:
        value = parse(text)
    except ValueError as error:
        raise UserError(f"--{name}: {error}") from error
    if value <= 0:
        raise UserError(f"--{name}: {text} is not above zero")
    return value
