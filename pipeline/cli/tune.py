"""The verbs of tuning: set, restore and status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out, warn
from pipeline.cli.context import Context
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.errors import UserError
from pipeline.machine.lease import machine_lease
from pipeline.machine.places import tune_record
from pipeline.machine.tune import once
from pipeline.machine.tune.host import Host
from pipeline.machine.tune.night import give_back
from pipeline.machine.tune.record import Record
from pipeline.machine.tune.telling import failed, failures, lines
from pipeline.machine.tune.tuner import Did, Outcome, Tuner
from pipeline.units import counted

group = typer.Typer()
app.add_typer(group, name="tune")


@group.callback(invoke_without_command=True)
def tune_group(context: typer.Context) -> None:
    """Tune this machine for steady measurements, or restore it."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@group.command("set")
def set_verb(
    config: ConfigOption = DEFAULT_FILE,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")
    ] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Set what [tune] asks for, until `nightshift tune restore` or the next start.

    What was there before is written down first. What refuses is told, and all else is set.

    Example: nightshift tune set --dry-run
    """
    section = Context(config, needed=False).config.tune
    tuner = this_machine()
    if dry_run:
        outcomes = tuner.foreseen(section.settings) + once.foreseen(section.settings)
    else:
        with machine_lease().held():
            outcomes = tuner.set(section.settings, by_hand=True)
            outcomes += once.do_once(section.settings, tuner.host)
    _show(outcomes, form)
    _conclude(failed(outcomes, section.model_fields_set), "set")


@group.command("restore")
def restore_verb(
    left: Annotated[
        bool, typer.Option("--left", help="Only what a night has set, not what was set by hand.")
    ] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Give back what was there before, also after a kill.

    What somebody changed since is told and left.

    Example: nightshift tune restore
    """
    tuner = this_machine()
    with machine_lease().held():
        outcomes = give_back(tuner) if left else tuner.restore()
    _show(outcomes, form)
    if not outcomes and form is Format.TEXT:
        out.print("nothing is tuned")
    _conclude(failed(outcomes, ()), "restored")


@group.command("status")
def status_verb(config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT) -> None:
    """Show what is tuned, what it was before, and what [tune] would change.

    Example: nightshift tune status
    """
    section = Context(config, needed=False).config.tune
    tuner = this_machine()
    tuned = tuner.record.read(tuner.host.boot)
    foreseen = tuner.foreseen(section.settings)
    if form is Format.JSON:
        print_json({"tuned": tuned, "asked": foreseen})
        return
    if tuned is None or not tuned.entries:
        out.print("nothing is tuned")
    else:
        until = "`nightshift tune restore`" if tuned.by_hand else "the end of the night"
        out.print(f"tuned until {until}:")
        for entry in tuned.entries:
            out.print(f"  {entry.setting} {entry.knob}: before {entry.before}", markup=False)
    would = [each for each in foreseen if each.did is Did.SET]
    if would:
        out.print("`nightshift tune set` would change:")
    for line in lines(would):
        out.print(f"  {line}", markup=False)


def this_machine() -> Tuner:
    """Return what tunes this machine."""
    return Tuner(Host(), Record(tune_record()))


def _show(outcomes: Sequence[Outcome], form: Format) -> None:
    if form is Format.JSON:
        print_json([each.model_dump(mode="json") for each in outcomes])
    else:
        badly = {Did.REFUSED, Did.LACKING, Did.LEFT}
        for line in lines(each for each in outcomes if each.did not in badly):
            out.print(line, markup=False)
    for line in failures(outcomes):
        warn(line)


def _conclude(missed: Sequence[Outcome], done: str) -> None:
    if missed:
        raise UserError(
            f"{counted(len(missed), 'value')} cannot be {done}; the lines before say which and "
            "why, and nothing else is held up by it"
        )
