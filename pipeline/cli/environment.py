"""The verb `environment`: list changes of machines, and how machines differ."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.machine_events import event_line, moved_most
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.environment.persistence import EnvironmentState, MachineState, load_environment
from pipeline.text.units import plural
from pipeline.use_cases.context import Context

_SHOWN = 20
"""Number of listed events, newest first."""


@app.command("environment")
def environment_verb(
    config: ConfigOption = DEFAULT_FILE,
    last: Annotated[
        int, typer.Option(min=1, help="Number of environment events to list.")
    ] = _SHOWN,
    form: FormatOption = Format.TEXT,
) -> None:
    """List changes of machines, and how machines differ.

    The changes are those that the last detection found in the controls: machines that were replaced
    or updated, that drift, or that changed for an unknown reason. The offset of each machine from
    the first machines of its class is listed, too.

    Example: nightshift environment --format json
    """
    context = Context(config)
    found = load_environment(context.results) or EnvironmentState(machines=(), events=())
    shown = found.model_copy(update={"events": found.events[:last]})
    if form is Format.JSON:
        print_json(shown.model_dump(mode="json"))
        return
    if not found.machines:
        out.print("no control was measured yet; docs/guide/controls.md explains how to add one")
        return
    events = plural(len(found.events), "environment event")
    out.print(f"{plural(len(found.machines), 'machine')} with controls, {events}")
    for machine in shown.machines:
        out.print(_machine(machine), markup=False)
    for event in shown.events:
        out.print(event_line(event), style="yellow", markup=False)


def _machine(machine: MachineState) -> str:
    nights = plural(machine.nights, "night")
    apart = (
        f", runs of one night differ by {machine.apart:.1%}" if machine.apart is not None else ""
    )
    return (
        f"  {machine.machine} ({machine.machine_class})  {nights} to {machine.last}{apart}; "
        f"{moved_most(machine.offsets) if machine.offsets else 'equal to its class'}"
    )
