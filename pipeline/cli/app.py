"""The root of the command line, which imports the module of a verb when that verb is called."""

from __future__ import annotations

import gc
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command_from_info, get_group_from_info
from typer.models import CommandInfo

from pipeline.cli.console import Verbosity, show_events
from pipeline.cli.verbs import GROUPS, VERBS, Verb


class VerbGroup(TyperGroup):
    """The root command. Its help comes from the table of verbs, without importing any verb."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all verbs, in the order of the help."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a verb's module and return the verb's command."""
        if cmd_name not in VERBS:
            return None
        # Importing creates almost no garbage, and the collector would take a tenth of the time.
        gc.disable()
        try:
            return _with_verbosity(_command(VERBS[cmd_name]))
        finally:
            gc.enable()

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the verb of a command line; suggest the nearest one for an unknown verb."""
        if args[0] not in VERBS:
            near = get_close_matches(args[0], VERBS, n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]}?" if near else "."
            ctx.fail(f"There is no command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs below the headings of their groups."""
        width = max(map(len, VERBS))
        for heading, verbs in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(verb.name.ljust(width), verb.help) for verb in verbs])


app = typer.Typer(
    name="nightshift",
    cls=VerbGroup,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
"""The root application, on which verb modules register their commands. The docstring of a verb is
its help text, with an example."""


@app.callback(invoke_without_command=True)
def help_if_alone(context: typer.Context) -> None:
    """A continuous performance-regression pipeline for database systems."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def add_group(name: str) -> typer.Typer:
    """Add a group of verbs, such as `fleet`; without a verb, the group prints its help."""
    group = typer.Typer(help=VERBS[name].help, callback=help_if_alone, invoke_without_command=True)
    app.add_typer(group, name=name)
    return group


def _verbosity(
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            help="Log each step of the work to standard error.",
            callback=lambda given: show_events(Verbosity.VERBOSE) if given else None,
            expose_value=False,
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            help="Print only results and errors, no progress and no warnings.",
            callback=lambda given: show_events(Verbosity.QUIET) if given else None,
            expose_value=False,
        ),
    ] = False,
) -> None:
    """Declare the options --verbose and --quiet, which every verb has."""


def _with_verbosity(command: Any) -> Any:
    """Add --verbose and --quiet to a command, or to all commands of a group."""
    for each in getattr(command, "commands", {"": command}).values():
        options = get_command_from_info(
            CommandInfo(callback=_verbosity),
            pretty_exceptions_short=app.pretty_exceptions_short,
            rich_markup_mode=app.rich_markup_mode,
        ).params
        each.params += options
    return command


def _command(verb: Verb) -> Any:
    """Import the module of a verb, which registers the verb's command."""
    import_module(verb.module)
    for group in app.registered_groups:
        if group.name == verb.name:
            return get_group_from_info(
                group,
                pretty_exceptions_short=app.pretty_exceptions_short,
                rich_markup_mode=app.rich_markup_mode,
                suggest_commands=app.suggest_commands,
            )
    (command,) = (each for each in app.registered_commands if each.name == verb.name)
    return get_command_from_info(
        command,
        pretty_exceptions_short=app.pretty_exceptions_short,
        rich_markup_mode=app.rich_markup_mode,
    )
