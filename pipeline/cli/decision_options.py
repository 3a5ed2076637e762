"""Options of the verbs that record a decision about a regression, as ``ack`` and ``wontfix``."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from pipeline.cli.console import out
from pipeline.cli.options import Format
from pipeline.cli.output import print_json
from pipeline.model import RegressionState

FingerprintArgument = Annotated[
    str,
    typer.Argument(
        help="Fingerprint of the regression, or the beginning of it.", show_default=False
    ),
]
NoteOption = Annotated[str, typer.Option(help="Reason for the decision, for later readers.")]
UntilOption = Annotated[
    datetime | None,
    typer.Option(
        help="Last day on which the decision holds, for example 2031-12-31.",
        formats=["%Y-%m-%d"],
        show_default=False,
    ),
]


def show_state(fingerprint: str, state: RegressionState, form: Format) -> None:
    """Print the new state of a regression after a decision about it."""
    if form is Format.JSON:
        print_json({"fingerprint": fingerprint, "state": state.value})
    else:
        out.print(f"{fingerprint} is {state.value}", markup=False)
