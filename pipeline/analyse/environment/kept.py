"""What the last detection found out about the machines, kept beside it for those who tell it."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from pipeline.analyse.environment.environment import Environment
from pipeline.analyse.environment.events import NORMAL_95, Effect, EnvironmentEvent
from pipeline.analyse.environment.offsets import Standing
from pipeline.durable import write_durably
from pipeline.errors import UserError
from pipeline.model import Frozen

FILE = "environment.json"
"""Its name in the results folder."""


class MachineState(Frozen):
    """A machine in its newest night with a control.

    ``offsets`` are how far each of its figures is from the class now, as a fraction with a 95 %
    interval: those that are clear, the largest first. ``apart`` is the median over the last week of
    how far the two runs of a control in one night are apart.
    """

    machine_class: str
    machine: str
    first: date
    last: date
    nights: int
    apart: float | None
    offsets: tuple[Effect, ...]


class EnvironmentState(Frozen):
    """The machines that have controls, and what happened to them, the newest first."""

    machines: tuple[MachineState, ...]
    events: tuple[EnvironmentEvent, ...]


def state_of(environment: Environment) -> EnvironmentState:
    """Return what is told of the machines."""
    return EnvironmentState(
        machines=tuple(_machine(one) for one in environment.standings),
        events=environment.events,
    )


WEEK = 7
"""Nights of which the pairs of controls are told."""


def _machine(one: Standing) -> MachineState:
    panel, fit = one.panel, one.fit
    errors = np.sqrt(one.errors**2 + (np.where(fit.sizes != 0.0, fit.errors, 0.0) ** 2).sum(axis=1))
    offsets = [
        Effect(
            control=figure.control,
            step=figure.step,
            metric=figure.metric,
            effect=math.expm1(level),
            low=math.expm1(level - NORMAL_95 * error),
            high=math.expm1(level + NORMAL_95 * error),
        )
        for figure, level, error in zip(panel.figures, one.levels[:, -1], errors, strict=True)
        if level != 0.0
    ]
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
        offsets=tuple(sorted(offsets, key=lambda each: -abs(each.effect))),
    )


def save_environment(environment: Environment, results: Path) -> None:
    """Keep what was found. Without controls nothing is kept, and what was is removed."""
    path = results / FILE
    if not environment.standings:
        path.unlink(missing_ok=True)
        return
    results.mkdir(parents=True, exist_ok=True)
    write_durably(path, state_of(environment).model_dump_json(indent=1))


def kept_environment(results: Path) -> EnvironmentState | None:
    """Return what the last detection found; None where no machine has controls.

    Raises UserError when the file is damaged.
    """
    path = results / FILE
    try:
        return EnvironmentState.model_validate_json(path.read_text())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise UserError(f"{path} is damaged; run `nightshift detect` again") from error
