"""Measure false alarms and found steps in simulated series, with confidence limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from changepoint.api import detect
from changepoint.evaluate.simulate import Noise, SeriesShape, draw


@dataclass(frozen=True, slots=True)
class Rate:
    """How often an event happened: ``hits`` of ``trials``."""

    hits: int
    trials: int

    @property
    def value(self) -> float:
        """The share of trials with a hit."""
        return self.hits / self.trials

    def limits(self) -> tuple[float, float]:
        """The 95 % confidence limits of the share (Clopper and Pearson 1934)."""
        misses = self.trials - self.hits
        low = float(betaincinv(self.hits, misses + 1, 0.025)) if self.hits else 0.0
        high = float(betaincinv(self.hits + 1, misses, 0.975)) if misses else 1.0
        return low, high

    def __str__(self) -> str:
        low, high = self.limits()
        return f"{self.value:.4f} ({low:.4f}-{high:.4f})"


@dataclass(frozen=True, slots=True)
class Recall:
    """How often a simulated step is found, and how often the reported intervals are right.

    found: a change exactly at the step. position, effect: among those found, the rates with the
    true place and the true size inside their intervals. other: a change somewhere else.
    """

    found: Rate
    position: Rate
    effect: Rate
    other: Rate


def alarms(noise: Noise, ladder: SeriesShape, trials: int, seed: int) -> Rate:
    """Return how often edivisive raises an alarm in unchanged series."""
    random = np.random.default_rng(seed)
    hits = 0
    for _ in range(trials):
        values = draw(noise, ladder, random, sigma=2.0)
        hits += bool(detect(values, positions=ladder.labels().tolist(), method="edivisive").changes)
    return Rate(hits, trials)


def recall(
    noise: Noise, ladder: SeriesShape, *, sigma: float, step: float, at: int, trials: int, seed: int
) -> Recall:
    """Return how often edivisive finds a step before position ``at``."""
    random = np.random.default_rng(seed)
    found = positions = effects = other = near = 0
    for _ in range(trials):
        values = draw(noise, ladder, random, sigma=sigma, step=step, at=at)
        changes = detect(values, positions=ladder.labels().tolist(), method="edivisive").changes
        other += any(c.position != at for c in changes)
        near += bool(changes)
        found += any(c.position == at for c in changes)
        if changes:
            best = min(changes, key=lambda c: abs(c.index - at * ladder.replicates))
            first, last = (int(p) for p in best.interval)
            positions += first <= at <= last
            effects += best.effect_interval[0] <= step <= best.effect_interval[1]
    return Recall(
        found=Rate(found, trials),
        position=Rate(positions, max(near, 1)),
        effect=Rate(effects, max(near, 1)),
        other=Rate(other, trials),
    )
