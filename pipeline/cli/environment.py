"""The verb environment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from pipeline.analyse.environment.events import Effect, EnvironmentEvent, EventKind
from pipeline.analyse.environment.kept import EnvironmentState, MachineState, kept_environment
from pipeline.cli.app import app
from pipeline.cli.console import out
from pipeline.cli.context import Context
from pipeline.cli.options import ConfigOption, Format, FormatOption
from pipeline.cli.output import print_json
from pipeline.config import DEFAULT_FILE
from pipeline.units import counted

_SHOWN = 20
"""Events that are listed: the newest."""

RECENT = timedelta(days=7)
"""How long a night tells of an event that is over."""

_FIGURES = 3
"""Figures that are told of each: those that moved most."""


@app.command("environment")
def environment_verb(
    config: ConfigOption = DEFAULT_FILE,
    last: Annotated[int, typer.Option(min=1, help="How many events are listed.")] = _SHOWN,
    form: FormatOption = Format.TEXT,
) -> None:
    """List the machines' events, offsets and noise.

    As their controls said at the last detection: machines that were replaced or updated, that drift
    or changed for no known reason, and how far each is from the machines that its class began with.

    Example: nightshift environment --format json
    """
    context = Context(config)
    found = kept_environment(context.results) or EnvironmentState(machines=(), events=())
    shown = found.model_copy(update={"events": found.events[:last]})
    if form is Format.JSON:
        print_json(shown.model_dump(mode="json"))
        return
    if not found.machines:
        out.print("no control was measured yet; docs/controls.md says how machines get one")
        return
    events = counted(len(found.events), "event")
    out.print(f"{counted(len(found.machines), 'machine')} with controls, {events}")
    for machine in shown.machines:
        out.print(_machine(machine), markup=False)
    for event in shown.events:
        out.print(event_line(event), style="yellow", markup=False)


def show_recent(results: Path) -> None:
    """Print the events of the last week before the newest night with a control.

    Drifts that go on are of it, whenever they began.
    """
    found = kept_environment(results)
    if found is None:
        return
    last = {(machine.machine_class, machine.machine): machine.last for machine in found.machines}
    newest = max(last.values())
    for event in found.events:
        # A drift that goes on is over when its machine measures no more.
        going_on = event.kind is EventKind.DRIFT and event.until is None
        there = last[event.machine_class, event.machine] if going_on else event.since
        if newest - (event.until or there) < RECENT:
            out.print(event_line(event), style="yellow", markup=False)


def event_line(event: EnvironmentEvent) -> str:
    """Say an event in one line: when, which machine, what, by how much."""
    until = f" to {event.until}" if event.until else ""
    return (
        f"  {event.since}{until}  {event.machine}  {event.kind.value}: {event.cause}; "
        f"{_figures(event.effects)}"
    )


def _machine(machine: MachineState) -> str:
    nights = counted(machine.nights, "night")
    apart = f", pairs {machine.apart:.1%} apart" if machine.apart is not None else ""
    return (
        f"  {machine.machine} ({machine.machine_class})  {nights} to {machine.last}{apart}; "
        f"{_figures(machine.offsets) if machine.offsets else 'as its class'}"
    )


def _figures(effects: Sequence[Effect]) -> str:
    told = [
        f"{one.step} {one.metric} {one.effect:+.1%} ({one.low:+.1%} to {one.high:+.1%})"
        for one in effects[:_FIGURES]
    ]
    more = [f"{len(effects) - _FIGURES} more"] if len(effects) > _FIGURES else []
    return ", ".join([*told, *more])
