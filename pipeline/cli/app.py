"""The command line's root: the application that the verbs add themselves to."""

from __future__ import annotations

import typer

app = typer.Typer(
    name="nightshift",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
"""Each file beside this one adds a verb. A verb's docstring is its help, with an example."""


@app.callback(invoke_without_command=True)
def help_if_alone(context: typer.Context) -> None:
    """A continuous performance-regression pipeline for database systems."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
