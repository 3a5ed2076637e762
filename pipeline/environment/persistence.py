"""The file with the last assessment of the machines, in the results folder."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipeline.environment.events import Effect, EnvironmentEvent, effects_of
from pipeline.files.atomic_write import write_durably
from pipeline.files.json_file import read_json
from pipeline.model import Frozen

if TYPE_CHECKING:
    from pipeline.environment.assess import EnvironmentAssessment
    from pipeline.environment.offsets import MachineOffset

FILE = "environment.json"
"""Name of the file with the assessment, in the results folder."""


class MachineState(Frozen):
    """The state of a machine in its latest night with a control.

    ``offsets`` are its figures' significant distances from the class now, as fractions with 95 %
    intervals, largest first. ``apart`` is the median difference between the two runs of a control
    in one night, over the last week.
    """

    machine_class: str
    machine: str
    first: date
    last: date
    nights: int
    apart: float | None
    offsets: tuple[Effect, ...]


class EnvironmentState(Frozen):
    """What is stored about all machines with controls: their state, their changes."""

    machines: tuple[MachineState, ...]
    events: tuple[EnvironmentEvent, ...]


def state_of(environment: EnvironmentAssessment) -> EnvironmentState:
    """Return an assessment of the machines in the form that is stored."""
    return EnvironmentState(
        machines=tuple(_machine(one) for one in environment.machine_offsets),
        events=environment.events,
    )


WEEK = 7
"""Nights over which the differences between pairs of controls are reported."""


def _machine(one: MachineOffset) -> MachineState:
    panel, fit = one.panel, one.fit
    errors = np.sqrt(one.errors**2 + (np.where(fit.sizes != 0.0, fit.errors, 0.0) ** 2).sum(axis=1))
    newest = panel.values[:, -WEEK:]
    pairs = np.abs(newest[:, :, -1] - newest[:, :, 0])
    paired = newest.shape[2] > 1 and bool(np.isfinite(pairs).any())
    return MachineState(
        machine_class=panel.place.machine_class,
        machine=panel.place.machine,
        first=panel.nights[0],
        last=panel.nights[-1],
        nights=len(panel.nights),
        apart=math.expm1(float(np.nanmedian(pairs))) if paired else None,
        offsets=effects_of(panel.figures, one.levels[:, -1], errors),
    )


def save_environment(environment: EnvironmentAssessment, results: Path) -> None:
    """Save an assessment of the machines; without controls, delete an older one."""
    path = results / FILE
    if not environment.machine_offsets:
        path.unlink(missing_ok=True)
        return
    results.mkdir(parents=True, exist_ok=True)
    write_durably(path, state_of(environment).model_dump_json(indent=1))


def load_environment(results: Path) -> EnvironmentState | None:
    """Load the assessment that the last detection saved; None without controls.

    Raises UserError when the file is damaged.
    """
    again = "run `nightshift detect` again"
    return read_json(results / FILE, EnvironmentState.model_validate_json, again)
