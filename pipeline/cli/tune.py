"""The verbs of `tune`, which changes kernel settings of this machine: set, restore and status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pipeline.cli.app import add_group
from pipeline.cli.console import out, warn
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.machine.tune.format import failed, failures, lines
from pipeline.machine.tune.tuner import KnobResult, TuneOutcome
from pipeline.text.errors import UserError
from pipeline.text.units import plural
from pipeline.use_cases.context import Context
from pipeline.use_cases.tune import foresee_tuning, restore_machine, tune_machine, tune_status

group = add_group("tune")


@group.command("set")
def set_verb(
    config: ConfigOption = DEFAULT_FILE,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change; change nothing.")
    ] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Apply the settings of [tune] until `nightshift tune restore` or the next boot.

    The original values are recorded first. Settings that cannot be changed are reported; all others
    are applied.

    Example: nightshift tune set --dry-run
    """
    section = Context(config, needed=False).config.tune
    outcomes = foresee_tuning(section) if dry_run else tune_machine(section)
    _show(outcomes, form)
    _conclude(failed(outcomes, section.model_fields_set), "set")


@group.command("restore")
def restore_verb(
    left: Annotated[
        bool,
        typer.Option(
            "--left", help="Restore only settings that a night changed, not those changed by hand."
        ),
    ] = False,
    form: FormatOption = Format.TEXT,
) -> None:
    """Restore the original settings, also after an interrupted night.

    Settings that somebody changed in the meantime are reported and not restored.

    Example: nightshift tune restore
    """
    outcomes = restore_machine(left=left)
    _show(outcomes, form)
    if not outcomes and form is Format.TEXT:
        out.print("there is no kernel setting to restore")
    _conclude(failed(outcomes, ()), "restored")


@group.command("status")
def status_verb(config: ConfigOption = DEFAULT_FILE, form: FormatOption = Format.TEXT) -> None:
    """Show the tuned settings, their original values, and what [tune] would change.

    Example: nightshift tune status
    """
    section = Context(config, needed=False).config.tune
    tuned, foreseen = tune_status(section)
    if form is Format.JSON:
        print_json({"tuned": tuned, "asked": foreseen})
        return
    if tuned is None or not tuned.entries:
        out.print("nightshift has changed no kernel setting of this machine")
    else:
        until = "`nightshift tune restore`" if tuned.by_hand else "the end of the night"
        out.print(f"tuned until {until}:")
        for entry in tuned.entries:
            out.print(f"  {entry.setting} {entry.knob}: originally {entry.before}", markup=False)
    would = [each for each in foreseen if each.did is KnobResult.SET]
    if would:
        out.print("`nightshift tune set` would change:")
    for line in lines(would):
        out.print(f"  {line}", markup=False)


def _show(outcomes: Sequence[TuneOutcome], form: Format) -> None:
    if form is Format.JSON:
        print_json([each.model_dump(mode="json") for each in outcomes])
    else:
        badly = {KnobResult.REFUSED, KnobResult.LACKING, KnobResult.LEFT}
        for line in lines(each for each in outcomes if each.did not in badly):
            out.print(line, markup=False)
    for line in failures(outcomes):
        warn(line)


def _conclude(missed: Sequence[TuneOutcome], done: str) -> None:
    if missed:
        raise UserError(
            f"{plural(len(missed), 'value')} could not be {done}; the lines above say why; all "
            f"other kernel settings are {done}"
        )
