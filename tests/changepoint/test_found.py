"""What the default method finds in series of every kind, place and p-value.

The table was written by the method itself. A change that alters a figure changes what users are
alarmed of: it belongs into the changelog. The series are short, so that mutation tests can search
them without the compiler.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import changepoint
from changepoint.series import Floats

Drawn = tuple[Floats, Floats | None]
"""Values, and the positions of those that are replicates."""


def noise(seed: int, length: int) -> Floats:
    return np.random.default_rng(seed).normal(0.0, 1.0, length)


def stepped(seed: int, length: int, *steps: tuple[int, float]) -> Drawn:
    values = noise(seed, length)
    for at, size in steps:
        values[at:] += size
    return values, None


def with_spikes() -> Drawn:
    values, _ = stepped(3, 80, (50, 2.0))
    values[[10, 22, 40, 66]] += [9.0, -12.0, 6.0, 15.0]
    return values, None


def of_few_values() -> Drawn:
    values = np.round(noise(5, 60) * 0.3)
    values[45:] += 1.0
    return values, None


def of_two_modes(seed: int, length: int, apart: float, share: float, at: int) -> Drawn:
    random = np.random.default_rng(seed)
    values = random.normal(0.0, 1.0, length) + apart * (random.random(length) < share)
    values[at:] += 2.5
    return values, None


def replicated() -> Drawn:
    nights = noise(7, 120).reshape(40, 3) + 0.3 * noise(8, 40)[:, None]
    nights[30:] += 1.5
    nights[[3, 12, 33], 0] += 12.0
    return nights.ravel(), np.repeat(np.arange(40.0), 3)


def autocorrelated() -> Drawn:
    values = noise(9, 120)
    for i in range(1, 120):
        values[i] += 0.5 * values[i - 1]
    values[70:] += 4.0
    return values, None


def heavy(seed: int, at: int, size: float) -> Drawn:
    values = np.random.default_rng(seed).standard_t(3, 80)
    values[at:] += size
    return values, None


SERIES: dict[str, Callable[[], Drawn]] = {
    "a step": lambda: stepped(1, 60, (30, 2.0)),
    "three late values": lambda: stepped(2, 60, (57, 6.0)),
    "five early values": lambda: stepped(22, 60, (5, -4.0)),
    "nine late values": lambda: stepped(29, 100, (91, 2.2)),
    "spikes": with_spikes,
    "a coarse unit": lambda: (np.round(stepped(4, 80, (55, 1.5))[0]), None),
    "few values": of_few_values,
    "two modes": lambda: of_two_modes(6, 100, 6.0, 0.35, 60),
    "two modes, a lower one": lambda: of_two_modes(16, 90, -7.0, 0.4, 50),
    "two modes, a short side": lambda: of_two_modes(36, 90, 8.0, 0.5, 84),
    "replicates": replicated,
    "autocorrelation": autocorrelated,
    "heavy tails": lambda: heavy(10, 72, 4.0),
    "heavy tails, a short side": lambda: heavy(11, 76, 7.0),
    "a ramp": lambda: (0.5 * noise(12, 80) + np.linspace(0.0, 4.0, 80), None),
    "stairs like a ramp": lambda: stepped(13, 90, (25, 1.8), (50, 1.8), (70, 1.8)),
    "short stairs": lambda: stepped(23, 36, (12, 5.0), (24, 5.0)),
    "a pulse": lambda: stepped(14, 120, (50, 4.0), (62, -4.0)),
    "a wide pulse": lambda: stepped(24, 120, (40, 2.5), (80, -2.5)),
    "a short and a long pulse": lambda: stepped(
        30, 150, (20, 6.0), (26, -6.0), (90, 3.0), (120, -3.0)
    ),
    "a large step, four values": lambda: stepped(15, 60, (56, 40.0)),
    "a large and a small step": lambda: stepped(25, 90, (30, 100.0), (60, 3.0)),
    "a long series": lambda: stepped(26, 400, (130, 0.8), (300, -1.2)),
    "six values": lambda: stepped(27, 6, (3, 1000.0)),
    "five values": lambda: stepped(27, 5, (3, 1000.0)),
    "a dozen values": lambda: stepped(28, 12, (6, 8.0)),
}

FOUND: dict[str, dict[int, float]] = {
    "a step": {30: 1.664e-10},
    "three late values": {57: 1.734e-08},
    "five early values": {5: 1.5595e-05},
    "nine late values": {92: 3.939e-06},
    "spikes": {49: 2.000e-06},
    "a coarse unit": {55: 5.567e-07},
    "few values": {45: 1.932e-07},
    "two modes": {60: 3.337e-13},
    "two modes, a lower one": {50: 1.208e-13},
    "two modes, a short side": {85: 1.161e-07},
    "replicates": {87: 8.160e-05},
    "autocorrelation": {70: 7.931e-42},
    "heavy tails": {72: 2.726e-09},
    "heavy tails, a short side": {76: 1.575e-04},
    "a ramp": {},
    "stairs like a ramp": {},
    "short stairs": {12: 3.185e-10, 24: 3.617e-11},
    "a pulse": {50: 2.538e-18, 62: 4.789e-20},
    "a wide pulse": {39: 3.316e-13, 79: 1.475e-13},
    "a short and a long pulse": {
        20: 5.695e-17,
        26: 3.422e-22,
        90: 4.774e-27,
        120: 4.744e-23,
    },
    "a large step, four values": {56: 6.145e-30},
    "a large and a small step": {30: 6.861e-139, 60: 3.310e-13},
    "a long series": {136: 5.490e-07, 300: 7.005e-16},
    "six values": {3: 1.511e-31},
    "five values": {},
    "a dozen values": {6: 7.966e-08},
}


@pytest.mark.parametrize("name", SERIES)
def test_changes_are_found_where_and_as_clearly_as_ever(name: str) -> None:
    values, positions = SERIES[name]()
    labels = positions.tolist() if positions is not None else None
    changes = changepoint.detect(values, positions=labels, method="default").changes
    found = {change.index: change.pvalue for change in changes}
    assert found == pytest.approx(FOUND[name], rel=1e-3)
