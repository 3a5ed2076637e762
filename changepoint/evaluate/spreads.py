"""Simulate changes of spread: false alarms, found ones and delay.

As in a real night, changes of level are searched first, and changes of spread between them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np

from changepoint.api import detect
from changepoint.detection.spread import SpreadChange, find
from changepoint.evaluate import nightly
from changepoint.evaluate.measure import Rate
from changepoint.evaluate.simulate import LEVEL, NOISES, Noise, SeriesShape, draw
from changepoint.series import Floats, Ints, read

NEAR = 10
"""Maximum distance, in positions, of a found change of spread from the true one."""

SERIES_PER_TRIAL = 5
"""Unchanged series simulated per trial, five times as many as in other tables, because alarms are
rare and a search is quick."""

LONGEST_DELAY = 40
"""Number of nights after which a change of spread counts as not found."""
KINDS = ("gauss", "t3", "bimodal", "spikes", "quantised", "coarse", "AR(.5)", "drift")
RATIOS = (1.5, 2.0, 3.0, 5.0)
"""Ratios of the larger to the smaller spread: from the smallest reported one to an obvious one."""
STEPS = (0.03, 0.05, 0.1, 0.5, -0.3)
"""Steps of the level that must not be reported as changes of spread, as a fraction of it."""
SHAPES = (SeriesShape(100, 1), SeriesShape(200, 1), SeriesShape(30, 3))
LADDERS = (
    SeriesShape(5, 3),
    SeriesShape(10, 3),
    SeriesShape(14, 3),
    SeriesShape(5, 5),
    SeriesShape(10, 5),
    SeriesShape(20, 5),
)


def flicker(random: np.random.Generator, ladder: SeriesShape) -> Floats:
    """Return a constant series in which one value in thirty is slightly higher."""
    high = random.random((ladder.positions, ladder.replicates)) < 1.0 / 30.0
    return high.astype(np.float64)


UNCHANGED: Mapping[str, Noise] = MappingProxyType(
    {**{name: NOISES[name] for name in KINDS}, "flicker": flicker}
)


def louder(
    noise: Noise, ladder: SeriesShape, random: np.random.Generator, ratio: float, at: int
) -> Floats:
    """Return a series that is ``ratio`` times as noisy from position ``at`` on."""
    deviations = nightly.SIGMA * noise(random, ladder)
    deviations[at:] *= ratio
    return (LEVEL + deviations).ravel()


def changes(values: Floats, labels: Ints, budget: float = 0.5) -> tuple[SpreadChange, ...]:
    """Return the changes of spread that are found between changes of level."""
    positions = None if len(labels) == labels[-1] + 1 else labels
    found = detect(values, positions=positions, alarms_per_1000=budget).changes
    levels = [int(change.position) for change in found if change.kind == "level"]
    return find(read(values, positions), levels, budget)


def places(values: Floats, labels: Ints) -> list[int]:
    """Return the positions of the found changes of spread."""
    return [change.at for change in changes(values, labels)]


def unstepped(values: Floats, _labels: Ints) -> list[int]:
    """Return the positions of changes of spread, on the assumption that the level never changes."""
    return [change.at for change in find(read(values, None), [], 0.5)]


def at_steps(noise: Noise, step: float, trials: int, seed: int) -> tuple[Rate, Rate]:
    """Return how often a step of level is mistaken for a change of spread.

    The step is after 100 nights; the nights from the 96th to the 145th are searched.
    """
    random = np.random.default_rng(seed)
    early = late = 0
    for _ in range(trials):
        values = draw(noise, SeriesShape(145, 1), random, sigma=nightly.SIGMA, step=step, at=100)
        before = after = False
        for night in range(96, 146):
            levels = [c.index for c in detect(values[:night]).changes if c.kind == "level"]
            known = any(abs(at - 100) <= nightly.MARGIN for at in levels)
            alert = bool(find(read(values[:night], None), levels, 0.5))
            before, after = before or (alert and not known), after or (alert and known)
        early += before
        late += after
    return Rate(early, trials), Rate(late, trials)


def recall(
    noise: Noise, ladder: SeriesShape, ratio: float, trials: int, seed: int
) -> tuple[Rate, Rate, Rate]:
    """Return how often a change of spread in the middle of a series is found.

    Also returns how often the intervals of found changes contain the true position and the true
    ratio.
    """
    random = np.random.default_rng(seed)
    at = ladder.positions // 2
    near = min(NEAR, max(ladder.positions // 10, 1))
    found = position = size = 0
    for _ in range(trials):
        got = changes(louder(noise, ladder, random, ratio, at), ladder.labels())
        best = min(got, key=lambda change: abs(change.at - at), default=None)
        if best is not None and abs(best.at - at) <= near:
            found += 1
            position += best.first <= at <= best.last
            size += best.ratio_interval[0] <= ratio <= best.ratio_interval[1]
    return Rate(found, trials), Rate(position, max(found, 1)), Rate(size, max(found, 1))


def delays(ladder: SeriesShape, ratio: float, trials: int, seed: int) -> tuple[float, float]:
    """Return the median and the 90 % quantile of the nights until a change of spread is found.

    The standard deviation of normal values grows by the factor ``ratio`` 40 positions before the
    end. A delay is infinite if the change is not found by the end.
    """
    random = np.random.default_rng(seed)
    at = ladder.positions - LONGEST_DELAY
    labels = ladder.labels()
    taken: list[float] = []
    for _ in range(trials):
        values = louder(NOISES["gauss"], ladder, random, ratio, at)
        ends = (((at + night) * ladder.replicates, night) for night in range(1, LONGEST_DELAY + 1))
        found = (
            night
            for end, night in ends
            if any(abs(place - at) <= NEAR for place in places(values[:end], labels[:end]))
        )
        taken.append(next(found, math.inf))
    median, late = np.quantile(taken, [0.5, 0.9], method="higher")
    return float(median), float(late)


def spread_table(trials: int, seed: int) -> Iterator[str]:
    """Yield five tables about changes of spread."""
    yield "| noise | new alarms of spread per 1000 nights | nights |"
    yield "| --- | --- | --- |"
    for name, noise in UNCHANGED.items():
        got = nightly.alarms(unstepped, noise, 200, SERIES_PER_TRIAL * trials, seed)
        yield f"| {name} | {got.rate:.3f} ({got.low:.3f}-{got.high:.3f}) | {got.nights} |"
    yield ""
    yield "| noise | step | alert of spread before the step is found | after |"
    yield "| --- | --- | --- | --- |"
    for name in ("gauss", "t3", "bimodal", "spikes", "AR(.5)"):
        for step in STEPS:
            early, late = at_steps(NOISES[name], step, trials, seed)
            yield f"| {name} | {step:.0%} | {early} | {late} |"
    yield ""
    yield "| noise | series | ratio | found | position | size |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name in ("gauss", "t3", "spikes"):
        for ladder in SHAPES:
            for ratio in RATIOS:
                row = " | ".join(map(str, recall(NOISES[name], ladder, ratio, trials, seed)))
                yield f"| {name} | {ladder} | {ratio:g} | {row} |"
    yield ""
    yield "| series | ratio | delay, median/p90 |"
    yield "| --- | --- | --- |"
    for ladder in (SeriesShape(140, 1), SeriesShape(70, 3)):
        for ratio in RATIOS[1:]:
            median, late_ = delays(ladder, ratio, trials, seed)
            yield f"| {ladder} | {ratio:g} | {median:g}/{late_:g} |"
    yield ""
    yield from _ladder_rows(trials, seed)


def _ladder_rows(trials: int, seed: int) -> Iterator[str]:
    """Yield table rows: how often changes of spread are found in short series."""
    names = ("gauss", "t3", "bimodal", "spikes", "quantised", "position 1")
    ratios = (3.0, 5.0, 10.0)
    yield "| ladder | " + " | ".join([*names, *(f"{ratio:g} found" for ratio in ratios)]) + " |"
    yield "| --- |" + " --- |" * (len(names) + len(ratios))
    for ladder in LADDERS:
        labels = ladder.labels()
        row = []
        for name in names:
            random = np.random.default_rng(seed)
            drawn = (draw(NOISES[name], ladder, random, sigma=nightly.SIGMA) for _ in range(trials))
            hits = sum(bool(find(read(values, labels), [], 0.5)) for values in drawn)
            row.append(str(Rate(hits, trials)))
        for ratio in ratios:
            random = np.random.default_rng(seed)
            at = ladder.positions // 2
            hits = 0
            for _ in range(trials):
                values = louder(NOISES["gauss"], ladder, random, ratio, at)
                hits += any(abs(c.at - at) <= 1 for c in find(read(values, labels), [], 0.5))
            row.append(str(Rate(hits, trials)))
        yield f"| {ladder} | " + " | ".join(row) + " |"
