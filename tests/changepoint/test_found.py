"""What the default method finds in series of every kind, place and p-value.

The table was written by the method itself. A change that alters a figure changes what users are
alarmed of: it belongs into the changelog. The series are short, so that mutation tests can search
them without the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple

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


def of_two_modes(
    seed: int, length: int, apart: float, share: float, *steps: int, size: float = 2.5
) -> Drawn:
    random = np.random.default_rng(seed)
    values = random.normal(0.0, 1.0, length) + apart * (random.random(length) < share)
    for number, at in enumerate(steps):
        values[at:] += -size if number % 2 and size > 3.0 else size
    return values, None


def replicated() -> Drawn:
    nights = noise(7, 120).reshape(40, 3) + 0.3 * noise(8, 40)[:, None]
    nights[30:] += 1.5
    nights[[3, 12, 33], 0] += 12.0
    return nights.ravel(), np.repeat(np.arange(40.0), 3)


def autocorrelated(length: int, coefficient: float, at: int) -> Drawn:
    values = noise(9, length)
    for i in range(1, length):
        values[i] += coefficient * values[i - 1]
    values[at:] += 4.0
    return values, None


def with_a_night_far_out() -> Drawn:
    nights = noise(37, 150).reshape(50, 3)
    nights[[11, 30]] += 14.0
    nights[40:] += 1.6
    return nights.ravel(), np.repeat(np.arange(50.0), 3)


def in_a_coarse_unit(seed: int, share: float) -> Drawn:
    """Most values are equal to the one before, and those that are not are a unit away."""
    random = np.random.default_rng(seed)
    values = np.where(random.random(90) < share, 3.0, 0.0)
    values[70:] += 3.0
    return values, None


def of_lasting_modes(seed: int, last: float, at: int) -> Drawn:
    random = np.random.default_rng(seed)
    changes = np.cumsum(random.random(120) > last) % 2
    values = random.normal(0.0, 1.0, 120) - 7.0 * changes
    values[at:] += 4.0
    return values, None


def beside_a_spike(seed: int, at: int, spike: float) -> Drawn:
    values, _ = stepped(seed, 60, (at, 10.0))
    values[at - 2] += spike
    return values, None


def ramp(seed: int, length: int, rise: float) -> Drawn:
    return noise(seed, length) + np.linspace(0.0, rise, length), None


def louder(seed: int, length: int, at: int, factor: float) -> Drawn:
    values = noise(seed, length)
    values[at:] *= factor
    return values, None


def backwards(drawn: Drawn) -> Drawn:
    return drawn[0][::-1].copy(), None


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
    "two modes, stairs": lambda: of_two_modes(41, 120, 7.0, 0.3, 40, 80),
    "two modes, a pulse": lambda: of_two_modes(42, 120, -7.0, 0.3, 60, 78, size=4.0),
    "two modes, a short side": lambda: of_two_modes(36, 90, 8.0, 0.5, 84),
    "replicates": replicated,
    "replicates, nights far out": with_a_night_far_out,
    "equal values and some others": lambda: in_a_coarse_unit(38, 0.1),
    "some autocorrelation": lambda: autocorrelated(120, 0.5, 70),
    "much autocorrelation": lambda: autocorrelated(120, 0.8, 70),
    "much autocorrelation, a short side": lambda: autocorrelated(120, 0.8, 90),
    "heavy tails": lambda: heavy(10, 72, 4.0),
    "heavy tails, a short side": lambda: heavy(11, 76, 7.0),
    "heavy tails, a short side first": lambda: backwards(heavy(11, 76, 7.0)),
    "heavy tails backwards": lambda: backwards(heavy(10, 72, 4.0)),
    "louder": lambda: louder(39, 160, 90, 4.0),
    "quieter": lambda: louder(40, 160, 90, 0.2),
    "a ramp": lambda: ramp(12, 80, 8.0),
    "a steep ramp": lambda: ramp(44, 60, 20.0),
    "a long ramp": lambda: ramp(45, 200, 6.0),
    "a step beside a spike": lambda: beside_a_spike(46, 55, 25.0),
    "a step beside a spike down": lambda: beside_a_spike(47, 54, -15.0),
    "two modes that last": lambda: of_lasting_modes(48, 0.6, 60),
    "two modes that last longer": lambda: of_lasting_modes(49, 0.75, 90),
    "stairs like a ramp": lambda: stepped(13, 90, (25, 1.8), (50, 1.8), (70, 1.8)),
    "short stairs": lambda: stepped(23, 36, (12, 5.0), (24, 5.0)),
    "a pulse": lambda: stepped(14, 120, (50, 4.0), (62, -4.0)),
    "a pulse that is too faint": lambda: stepped(43, 120, (50, 2.5), (62, -2.5)),
    "a faint pulse": lambda: stepped(43, 120, (50, 2.7), (62, -2.7)),
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

FOUND: dict[str, tuple[dict[str, float], tuple[float, ...]]] = {
    "a step": ({"level 30": 1.66449993e-10}, (0.844147362, 0, 0, 0.0166666667, 0.0259850037)),
    "three late values": ({"level 57": 1.73434498e-08}, (1.01112557, 0, 0, 0, -0.0549867432)),
    "five early values": ({"level 5": 1.55953204e-05}, (1.15954488, 0, 0, 0, 0.193618647)),
    "nine late values": ({"level 92": 3.93937385e-06}, (1.08477787, 0, 0, 0.01, 0.166909706)),
    "spikes": ({"level 49": 1.99984528e-06}, (1.29557512, 0, 0, 0.0625, -0.115775446)),
    "a coarse unit": ({"level 55": 5.56702012e-07}, (1.08149067, 0, 1, 0, -0.202889973)),
    "few values": ({"level 45": 1.93198731e-07}, (0.259678552, 0, 1, 0, 0)),
    "two modes": ({"level 60": 3.33747152e-13}, (3.00053907, 0, 0, 0, -0.10527624)),
    "two modes, a lower one": ({"level 50": 1.20768032e-13}, (3.55188468, 0, 0, 0, -0.0889677062)),
    "two modes, stairs": (
        {"level 40": 2.05621519e-16, "level 80": 6.22692883e-12},
        (3.257024, 0, 0, 0.216666667, 0.0601505022),
    ),
    "two modes, a pulse": ({}, (3.67721512, 0, 0, 0.25, 0.0496854782)),
    "two modes, a short side": (
        {"level 85": 1.16081739e-07},
        (3.8974573, 0, 0, 0.0111111111, -0.0762457291),
    ),
    "replicates": ({"level 87": 5.35790225e-05}, (0.99338853, 0.363555696, 0, 0.025, 0.149935631)),
    "replicates, nights far out": (
        {"level 120": 2.55582715e-08},
        (1.00659169, 0.154635856, 0, 0.04, 0.0503819485),
    ),
    "equal values and some others": ({"level 70": 1.02994938e-09}, (0.910169814, 0, 3, 0, 0)),
    "some autocorrelation": ({"level 70": 7.93072413e-42}, (1.06544364, 0, 0, 0, 0.338722016)),
    "much autocorrelation": (
        {
            "level 13": 2.18038688e-05,
            "level 29": 2.65919551e-10,
            "level 70": 6.69635196e-17,
            "level 85": 1.13336365e-06,
        },
        (1.04094047, 0, 0, 0, 0.549991035),
    ),
    "much autocorrelation, a short side": (
        {"level 90": 1.96773971e-21},
        (1.30489107, 0, 0, 0, 0.675456649),
    ),
    "heavy tails": ({"level 72": 2.72634032e-09}, (1.26922362, 0, 0, 0.0625, 0.0247550605)),
    "heavy tails, a short side": (
        {"level 76": 0.000157527655},
        (1.6217555, 0, 0, 0.05, 0.0514001896),
    ),
    "heavy tails, a short side first": (
        {"level 4": 0.000176682007},
        (1.6217555, 0, 0, 0.05, 0.0514001896),
    ),
    "heavy tails backwards": (
        {"level 8": 2.52319635e-09},
        (1.26922362, 0, 0, 0.0625, 0.0247550605),
    ),
    "louder": ({"spread 90": 1.62996806e-11}, (2.19295047, 0, 0, 0.06875, -0.108790993)),
    "quieter": ({"spread 90": 4.28673478e-13}, (0.704237384, 0, 0, 0.10625, 0.0351000498)),
    "a ramp": ({}, (2.50317546, 0, 0, 0, 0.90364882)),
    "a steep ramp": ({}, (5.83798026, 0, 0, 0, 0.999478351)),
    "a long ramp": ({}, (2.12026809, 0, 0, 0, 0.784211693)),
    "a step beside a spike": (
        {"level 54": 1.16116178e-26},
        (1.01607746, 0, 0, 0.0333333333, -0.0741081154),
    ),
    "a step beside a spike down": (
        {"level 54": 3.94995155e-28},
        (1.04686471, 0, 0, 0.0166666667, 0.291168151),
    ),
    "two modes that last": ({"level 60": 2.46201379e-31}, (3.57731145, 0, 0, 0, 0.238709185)),
    "two modes that last longer": ({}, (3.91290214, 0, 0, 0, 0.538490418)),
    "stairs like a ramp": ({}, (2.05885513, 0, 0, 0, 0.77242846)),
    "short stairs": (
        {"level 12": 3.82794091e-10, "level 24": 6.7278703e-09},
        (0.981634328, 0, 0, 0.138888889, 0.0202925307),
    ),
    "a pulse": (
        {"level 50": 1.14512514e-12, "level 62": 7.84860062e-19},
        (0.969476164, 0, 0, 0.00833333333, -0.00838935099),
    ),
    "a pulse that is too faint": ({}, (1.27764544, 0, 0, 0.00833333333, 0.28568167)),
    "a faint pulse": (
        {"level 50": 1.37895511e-10, "level 62": 6.39681613e-09},
        (1.0387809, 0, 0, 0, -0.0669399175),
    ),
    "a wide pulse": (
        {"level 39": 3.3912441e-12, "level 79": 6.04841592e-12},
        (1.0256851, 0, 0, 0, -0.0917413617),
    ),
    "a short and a long pulse": (
        {
            "level 20": 2.9503151e-09,
            "level 26": 2.19816901e-17,
            "level 90": 1.51105859e-22,
            "level 120": 6.04286502e-15,
        },
        (0.995931001, 0, 0, 0, -0.028439892),
    ),
    "a large step, four values": ({"level 56": 6.14476291e-30}, (1.01329263, 0, 0, 0, 0.076721148)),
    "a large and a small step": (
        {"level 30": 6.22394709e-99, "level 60": 1.59536902e-11},
        (0.991681879, 0, 0, 0.0111111111, 0.0850708033),
    ),
    "a long series": ({"level 300": 1.50827388e-09}, (1.06663898, 0, 0, 0.0025, 0.0510959202)),
    "six values": ({"level 3": 1.51074612e-31}, (0.710259442, 0, 0, 0, 0)),
    "five values": ({}, (547.117059, 0, 0, 0, 0)),
    "a dozen values": ({"level 6": 0.0008}, (0.742225456, 0, 0, 0, -0.101852918)),
}
"""P-values by kind and place of the changes, and what ``Noise`` has in its order."""


@pytest.mark.parametrize("name", SERIES)
def test_changes_are_found_where_and_as_clearly_as_ever(name: str) -> None:
    found, noise = detected(name)
    expected, scales = FOUND[name]
    assert found == pytest.approx(expected, rel=1e-6)
    assert noise == pytest.approx(scales, rel=1e-6, abs=1e-12)


def detected(name: str) -> tuple[dict[str, float], tuple[float, ...]]:
    """The p-value of each change by its kind and place, and the noise between changes."""
    values, positions = SERIES[name]()
    labels = positions.tolist() if positions is not None else None
    found = changepoint.detect(values, positions=labels, method="default")
    changes = {f"{change.kind} {change.index}": change.pvalue for change in found.changes}
    return changes, astuple(found.noise)
