"""Environment events: changes of a machine (not of the DBMS), described in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from enum import StrEnum

import numpy as np

from pipeline.environment.offsets import BEGINNING, MachineOffset
from pipeline.environment.panel import ClassMachine, ControlFigure
from pipeline.model import Frozen

NORMAL_95 = 1.96
"""Standard errors on each side of a 95 % interval."""


SETTLED = 3
"""Nights after which a new machine is reported. Servers rented for a single night are not
reported."""


class MachineEventKind(StrEnum):
    """What happened to a machine.

    It was replaced, joined its class, was updated (its fingerprint changed), drifts, had an outage,
    or changed for an unknown reason.
    """

    REPLACED = "replaced"
    JOINED = "joined"
    UPDATED = "updated"
    DRIFT = "drift"
    UNKNOWN = "unknown"


class Effect(Frozen):
    """How much a machine change moved one control figure, with the 95 % interval."""

    control: str
    step: str
    metric: str
    effect: float
    low: float
    high: float


class EnvironmentEvent(Frozen):
    """A change of a machine (not of a DBMS): when, of which kind, with which effects.

    ``since`` is the first night of the change, between ``earliest`` and ``latest``. A drift ends in
    the night ``until``, or goes on. ``effects`` has only clear effects, largest first.
    """

    kind: MachineEventKind
    machine_class: str
    machine: str
    since: date
    earliest: date
    latest: date
    until: date | None = None
    cause: str
    effects: tuple[Effect, ...]


def events_of(
    standings: Sequence[MachineOffset],
    causes: Mapping[ClassMachine, Mapping[int, str]],
    smallest: float,
) -> list[EnvironmentEvent]:
    """Return the changes of all machines as events, newest first.

    ``causes`` has each machine's fingerprint changes, by the index of the night in its panel.
    """
    found = []
    for one in standings:
        arrival = _arrival(one, standings, smallest)
        found += [arrival] if arrival is not None else []
        found += [
            _event(one, changes, causes.get(one.panel.place, {})) for changes in _grouped(one)
        ]
    return sorted(found, key=lambda event: (event.since, event.machine), reverse=True)


def _grouped(one: MachineOffset) -> list[list[int]]:
    """Group the changes of a machine by event: each step alone, adjoining ramps together."""
    changes = one.fit.changes
    events = [[at] for at, change in enumerate(changes) if not change.ramp]
    drifts: list[list[int]] = []
    for at in sorted(
        (at for at, change in enumerate(changes) if change.ramp), key=lambda at: changes[at].first
    ):
        if drifts and changes[at].first <= max(changes[each].last for each in drifts[-1]):
            drifts[-1].append(at)
        else:
            drifts.append([at])
    return events + drifts


def _event(
    one: MachineOffset, numbers: Sequence[int], causes: Mapping[int, str]
) -> EnvironmentEvent:
    panel = one.panel
    changes = [one.fit.changes[at] for at in numbers]
    first, until = changes[0], max(change.last for change in changes)
    cause = causes.get(first.first, "")
    if first.ramp:
        kind, reason = (
            MachineEventKind.DRIFT,
            "a gradual cause: a disk, the cooling, or something that fills up",
        )
    elif cause:
        kind, reason = MachineEventKind.UPDATED, cause
    else:
        kind, reason = MachineEventKind.UNKNOWN, "unknown: its fingerprint did not change"
    return EnvironmentEvent(
        kind=kind,
        machine_class=panel.place.machine_class,
        machine=panel.place.machine,
        since=panel.nights[first.first],
        earliest=panel.nights[first.earliest],
        latest=panel.nights[first.latest],
        until=panel.nights[until] if first.ramp and until < len(panel.nights) - 1 else None,
        cause=reason,
        effects=effects_of(
            panel.figures,
            one.fit.sizes[:, numbers].sum(axis=1),
            np.sqrt(
                (one.fit.errors[:, numbers] ** 2).sum(axis=1, where=one.fit.sizes[:, numbers] != 0)
            ),
        ),
    )


def _arrival(
    one: MachineOffset, standings: Sequence[MachineOffset], smallest: float
) -> EnvironmentEvent | None:
    """Return the event of a machine that joined later and differs from its class."""
    panel = one.panel
    others = [
        each.panel
        for each in standings
        if each is not one and each.panel.place.machine_class == panel.place.machine_class
    ]
    first = panel.nights[0]
    if (
        len(panel.nights) < SETTLED
        or not others
        or first - min(each.nights[0] for each in others) <= BEGINNING
    ):
        return None
    if np.abs(one.offsets).max(initial=0.0) < math.log1p(smallest) / 2:
        return None
    gone = [each for each in others if each.nights[-1] < first]
    before = max(gone, key=lambda each: each.nights[-1], default=None)
    replaced = before is not None and first - before.nights[-1] <= BEGINNING
    return EnvironmentEvent(
        kind=MachineEventKind.REPLACED if replaced else MachineEventKind.JOINED,
        machine_class=panel.place.machine_class,
        machine=panel.place.machine,
        since=first,
        earliest=first,
        latest=first,
        cause=f"it replaced {before.place.machine}"
        if replaced and before is not None
        else "it joined later",
        effects=effects_of(panel.figures, one.offsets, one.errors),
    )


def effects_of(
    figures: Sequence[ControlFigure], sizes: Iterable[float], errors: Iterable[float]
) -> tuple[Effect, ...]:
    """Return how much a machine change moved each control figure, largest first.

    Sizes and their standard errors are natural logarithms.
    """
    found = [
        Effect(
            control=figure.control,
            step=figure.step,
            metric=figure.metric,
            effect=math.expm1(size),
            low=math.expm1(size - NORMAL_95 * error),
            high=math.expm1(size + NORMAL_95 * error),
        )
        for figure, size, error in zip(figures, sizes, errors, strict=True)
        if size != 0.0
    ]
    return tuple(sorted(found, key=lambda effect: -abs(effect.effect)))
