"""The command line's root: the application that the verbs add themselves to."""

from __future__ import annotations

import typer

app = typer.Typer(
    name="nightshift",
    help="A continuous performance-regression pipeline for database systems.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
"""Each file beside this one adds a verb. A verb's docstring is its help, with an example."""
