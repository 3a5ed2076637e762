"""Nights in which the machine was not itself: its controls say so.

Equal binaries are controls of each other, as the revision ``17.11#2``. If they are slower in one
night than in those around it, the machine was, and nothing that was measured in that night says
anything of a DBMS: its runs are taken as missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median

from pipeline.model import Series
from pipeline.store.queries import RunRow

NIGHT_GAP = timedelta(hours=2)
"""Runs of a machine that are further apart are of different nights."""

AROUND = 3
"""Nights before and behind that a night is compared with. If a machine changes for good, they side
with what is new from the third night on: that is no outage."""

LEAST_AROUND = 2
"""Of a single other night nobody knows which of the two was off."""

DEVIATIONS = 3.0
"""Standard deviations of a control between nights from which on it was off."""

NORMAL_MAD = 1.4826
"""Standard deviation of normal noise over its median absolute deviation."""


def without_outages(
    series: Sequence[Series], runs: Iterable[RunRow], smallest: float
) -> list[Series]:
    """Return the series without the runs of nights in which most controls were off.

    ``smallest`` is the smallest relative change of interest: controls that move by less are well.
    """
    by_id = {run.run_id: run for run in runs}
    nights = _nights(by_id.values())
    off = _nights_off(series, by_id, nights, smallest)
    if not off:
        return list(series)
    return [
        one.model_copy(
            update={
                "points": tuple(
                    point for point in one.points if nights.get(point.run_id) not in off
                )
            }
        )
        for one in series
    ]


def _nights(runs: Iterable[RunRow]) -> dict[str, tuple[str, int]]:
    """Return the night of each run: its machine and a number that grows with time."""
    nights: dict[str, tuple[str, int]] = {}
    ended: dict[str, tuple[datetime, int]] = {}
    number = 0
    for run in sorted(runs, key=lambda run: (run.started_at, run.run_id)):
        machine = str(run.machine["hostname"])
        if machine in ended and run.started_at - ended[machine][0] > NIGHT_GAP:
            number += 1
            ended[machine] = (run.ended_at, number)
        last, night = ended.get(machine, (run.ended_at, number))
        ended[machine] = (max(last, run.ended_at), night)
        nights[run.run_id] = (machine, night)
    return nights


def _nights_off(
    series: Sequence[Series],
    runs: Mapping[str, RunRow],
    nights: Mapping[str, tuple[str, int]],
    smallest: float,
) -> set[tuple[str, int]]:
    votes: dict[tuple[str, int], list[bool]] = {}
    for one in series:
        controls: dict[tuple[str, str], dict[int, list[float]]] = {}
        for point in one.points:
            if point.run_id in runs and point.value > 0:
                machine, night = nights[point.run_id]
                binary = runs[point.run_id].build_hash
                levels = controls.setdefault((machine, binary), {})
                levels.setdefault(night, []).append(math.log(point.value))
        for (machine, _), levels in controls.items():
            for night, off in _deviant(levels, smallest).items():
                votes.setdefault((machine, night), []).append(off)
    return {night for night, off in votes.items() if sum(off) * 2 > len(off)}


def _deviant(levels: Mapping[int, Sequence[float]], smallest: float) -> dict[int, bool]:
    """Say of each night whether a control (logarithms by night) was off in it."""
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
