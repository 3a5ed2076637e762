"""Outages: nights in which a machine was unusual and its results do not count.

Equal binaries, such as the revision ``17.11#2``, are controls of each other. If they are slower in
one night than in the nights around it, the machine caused it. Runs of such a night say nothing
about a DBMS, so they count as missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median

import numpy as np

from pipeline.environment.noise import NORMAL_MAD
from pipeline.storage.runs import RunHead
from pipeline.storage.series import Series

NIGHT_GAP = timedelta(hours=2)
"""Runs of a machine that are further apart belong to different nights."""

AROUND = 3
"""Nights on each side that a night is compared with. From the third night after a permanent change,
most of the compared nights have the new level, so the change is no outage."""

LEAST_AROUND = 2
"""Fewest other nights to compare a night with. Of only two nights, either may be the unusual
one."""

DEVIATIONS = 3.0
"""Standard deviations by which a control must differ from the nights around it to count as
unusual."""


def without_outages(
    series: Sequence[Series],
    runs: Sequence[RunHead],
    hostnames: Mapping[str, str],
    smallest: float,
) -> list[Series]:
    """Return series without the runs of nights in which most controls were unusual.

    ``hostnames`` maps the hash of a machine to its host name. ``smallest`` is the smallest relative
    change of interest: smaller changes of a control are ignored.
    """
    nights = _nights(runs, hostnames)
    controls = _controls(runs, nights)
    off = _nights_off(series, controls, nights, smallest) if controls else set()
    if not off:
        return list(series)
    lost = {run_id for run_id, night in nights.items() if night in off}
    return [
        one.where(np.array([each not in lost for each in one.run_ids], dtype=bool))
        for one in series
    ]


def _controls(runs: Sequence[RunHead], nights: Mapping[str, tuple[str, int]]) -> dict[str, str]:
    """Return the build hash of each run that serves as a control, by run id.

    A run is a control if its machine measured the same build in several nights.
    """
    seen: dict[tuple[str, str], set[int]] = {}
    for run in runs:
        machine, night = nights[run.run_id]
        seen.setdefault((machine, run.build_hash), set()).add(night)
    return {
        run.run_id: run.build_hash
        for run in runs
        if len(seen[nights[run.run_id][0], run.build_hash]) > LEAST_AROUND
    }


def _nights(runs: Iterable[RunHead], hostnames: Mapping[str, str]) -> dict[str, tuple[str, int]]:
    """Return the night of each run: its machine, and a number that grows with time."""
    nights: dict[str, tuple[str, int]] = {}
    ended: dict[str, tuple[datetime, int]] = {}
    number = 0
    for run in sorted(runs, key=lambda run: (run.started_at, run.run_id)):
        machine = hostnames[run.machine]
        if machine in ended and run.started_at - ended[machine][0] > NIGHT_GAP:
            number += 1
            ended[machine] = (run.ended_at, number)
        last, night = ended.get(machine, (run.ended_at, number))
        ended[machine] = (max(last, run.ended_at), night)
        nights[run.run_id] = (machine, night)
    return nights


def _nights_off(
    series: Sequence[Series],
    binaries: Mapping[str, str],
    nights: Mapping[str, tuple[str, int]],
    smallest: float,
) -> set[tuple[str, int]]:
    votes: dict[tuple[str, int], list[bool]] = {}
    for one in series:
        controls: dict[tuple[str, str], dict[int, list[float]]] = {}
        for point in one.points:
            if point.run_id in binaries and point.value > 0:
                machine, night = nights[point.run_id]
                binary = binaries[point.run_id]
                levels = controls.setdefault((machine, binary), {})
                levels.setdefault(night, []).append(math.log(point.value))
        for (machine, _), levels in controls.items():
            for night, off in _deviant(levels, smallest).items():
                votes.setdefault((machine, night), []).append(off)
    return {night for night, off in votes.items() if sum(off) * 2 > len(off)}


def _deviant(levels: Mapping[int, Sequence[float]], smallest: float) -> dict[int, bool]:
    """Return for each night whether a control was far from its usual value.

    ``levels`` has the natural logarithms of the control's values, by the number of the night.
    """
    order = sorted(levels)
    middles = [median(levels[night]) for night in order]
    apart = {}
    for at, night in enumerate(order):
        around = middles[max(0, at - AROUND) : at] + middles[at + 1 : at + 1 + AROUND]
        if len(around) >= LEAST_AROUND:
            apart[night] = middles[at] - median(around)
    if not apart:
        return {}
    noise = NORMAL_MAD * median(abs(each) for each in apart.values())
    limit = max(DEVIATIONS * noise, math.log1p(smallest))
    return {night: abs(each) > limit for night, each in apart.items()}
