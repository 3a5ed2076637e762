"""Text lines about changes of machines (environment events)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from pipeline.cli.console import out
from pipeline.environment.events import Effect, EnvironmentEvent, MachineEventKind
from pipeline.environment.persistence import load_environment

RECENT = timedelta(days=7)
"""Time for which nights still print an event after it has ended."""

_FIGURES = 3
"""Number of printed figures of an event, those that changed most."""


def show_recent(results: Path) -> None:
    """Print the changes of machines in the week before the newest night with controls.

    Continuing drifts are included, whenever they began.
    """
    found = load_environment(results)
    if found is None:
        return
    last = {(machine.machine_class, machine.machine): machine.last for machine in found.machines}
    newest = max(last.values())
    for event in found.events:
        # A continuing drift has ended if its machine no longer measures.
        going_on = event.kind is MachineEventKind.DRIFT and event.until is None
        there = last[event.machine_class, event.machine] if going_on else event.since
        if newest - (event.until or there) < RECENT:
            out.print(event_line(event), style="yellow", markup=False)


def event_line(event: EnvironmentEvent) -> str:
    """Describe a change of a machine in one line: time, machine, kind, size."""
    until = f" to {event.until}" if event.until else ""
    return (
        f"  {event.since}{until}  {event.machine}  {event.kind.value}: {event.cause}; "
        f"{moved_most(event.effects)}"
    )


def moved_most(effects: Sequence[Effect]) -> str:
    """Return as text which figures a machine change moved most, and how many others moved."""
    reported = [
        f"{one.step} {one.metric} {one.effect:+.1%} ({one.low:+.1%} to {one.high:+.1%})"
        for one in effects[:_FIGURES]
    ]
    more = [f"{len(effects) - _FIGURES} more"] if len(effects) > _FIGURES else []
    return ", ".join([*reported, *more])
