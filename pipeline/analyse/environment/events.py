"""What happened to machines, in words: environment events."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from enum import StrEnum

import numpy as np

from pipeline.analyse.environment.offsets import BEGINNING, Standing
from pipeline.analyse.environment.panel import Figure, Floats, Place
from pipeline.model import Frozen

NORMAL_95 = 1.96
"""Standard errors on each side of a 95 % interval."""


SETTLED = 3
"""Nights after which a machine that came is told: servers that are rented for a night are not."""


class EventKind(StrEnum):
    """What happened to a machine.

    It was replaced, joined its class, was updated (something of its fingerprint changed), drifts,
    or changed and nobody knows why.
    """

    REPLACED = "replaced"
    JOINED = "joined"
    UPDATED = "updated"
    DRIFT = "drift"
    UNKNOWN = "unknown"


class Effect(Frozen):
    """How far an event moved a figure of a control, as a fraction, with its 95 % interval."""

    control: str
    step: str
    metric: str
    effect: float
    low: float
    high: float


class EnvironmentEvent(Frozen):
    """Something that happened to a machine and to no DBMS.

    ``since`` is the first night that shows it, between ``earliest`` and ``latest``; a drift was
    all there in the night ``until``, or goes on. ``effects`` are those that are clear, the largest
    first.
    """

    kind: EventKind
    machine_class: str
    machine: str
    since: date
    earliest: date
    latest: date
    until: date | None = None
    cause: str
    effects: tuple[Effect, ...]


def events_of(
    standings: Sequence[Standing], causes: Mapping[Place, Mapping[int, str]], smallest: float
) -> list[EnvironmentEvent]:
    """Return the events of all machines, the newest first.

    ``causes`` are, by machine, what its fingerprint says of the
    nights in which it changed.
    """
    found = []
    for one in standings:
        arrival = _arrival(one, standings, smallest)
        found += [arrival] if arrival is not None else []
        found += [_event(one, changes, causes.get(one.panel.place, {})) for changes in _told(one)]
    return sorted(found, key=lambda event: (event.since, event.machine), reverse=True)


def _told(one: Standing) -> list[list[int]]:
    """Return the changes of a machine by event: ramps that touch are one drift that is bent."""
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


def _event(one: Standing, numbers: Sequence[int], causes: Mapping[int, str]) -> EnvironmentEvent:
    panel = one.panel
    changes = [one.fit.changes[at] for at in numbers]
    first, until = changes[0], max(change.last for change in changes)
    cause = causes.get(first.first, "")
    if first.ramp:
        kind, said = EventKind.DRIFT, "slowly: a disk, the cooling, something that fills up"
    elif cause:
        kind, said = EventKind.UPDATED, cause
    else:
        kind, said = EventKind.UNKNOWN, "nothing of its fingerprint changed then"
    return EnvironmentEvent(
        kind=kind,
        machine_class=panel.place.machine_class,
        machine=panel.place.machine,
        since=panel.nights[first.first],
        earliest=panel.nights[first.earliest],
        latest=panel.nights[first.latest],
        until=panel.nights[until] if first.ramp and until < len(panel.nights) - 1 else None,
        cause=said,
        effects=_effects(
            panel.figures,
            one.fit.sizes[:, numbers].sum(axis=1),
            np.sqrt(
                (one.fit.errors[:, numbers] ** 2).sum(axis=1, where=one.fit.sizes[:, numbers] != 0)
            ),
        ),
    )


def _arrival(
    one: Standing, standings: Sequence[Standing], smallest: float
) -> EnvironmentEvent | None:
    """Return the event of a machine that came later, if it is another than its class."""
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
        kind=EventKind.REPLACED if replaced else EventKind.JOINED,
        machine_class=panel.place.machine_class,
        machine=panel.place.machine,
        since=first,
        earliest=first,
        latest=first,
        cause=f"measures in place of {before.place.machine}"
        if replaced and before is not None
        else "a machine that came later",
        effects=_effects(panel.figures, one.offsets, one.errors),
    )


def _effects(figures: Sequence[Figure], sizes: Floats, errors: Floats) -> tuple[Effect, ...]:
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
