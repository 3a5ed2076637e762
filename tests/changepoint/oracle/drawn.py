"""Series of every kind of noise, the same to the last bit on every machine.

Golden indices are kept without their series, so nothing here may depend on a library's stream of
random numbers or on a rounding that IEEE 754 leaves open: integers, + - * / and the square root.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from changepoint.series import Floats


class Stream:
    """splitmix64 (Steele, Lea, Flood 2014) as an endless row of numbers."""

    def __init__(self, seed: int) -> None:
        self.state = seed * 0x632BE59BD9B4E019 % 2**64

    def uniform(self, count: int) -> Floats:
        """Numbers in [0, 1), (count,)."""
        golden = np.uint64(0x9E3779B97F4A7C15)
        z = np.uint64(self.state) + golden * np.arange(1, count + 1, dtype=np.uint64)
        self.state = (self.state + 0x9E3779B97F4A7C15 * count) % 2**64
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        return np.asarray((z >> np.uint64(11)) / 2.0**53, dtype=np.float64)

    def integer(self, low: int, high: int) -> int:
        """A number in low .. high - 1."""
        return low + int(self.uniform(1)[0] * (high - low))

    def normal(self, count: int) -> Floats:
        """Nearly normal numbers: sums of twelve uniform ones, their mean taken off."""
        total = np.zeros(count)
        for _ in range(12):
            total += self.uniform(count)
        return total - 6.0


Noise = Callable[[Stream, int], Floats]


def t3(stream: Stream, count: int) -> Floats:
    """Student's t with three degrees of freedom, a deviation of 1."""
    square = sum((stream.normal(count) ** 2 for _ in range(3)), np.full(count, 1e-9))
    return stream.normal(count) / np.sqrt(square)


def bimodal(stream: Stream, count: int) -> Floats:
    return stream.normal(count) - 4.0 * (stream.uniform(count) < 0.3)


def autocorrelated(stream: Stream, count: int) -> Floats:
    values = stream.normal(count)
    for i in range(1, count):
        values[i] += 0.5 * values[i - 1]
    return values


def drifting(stream: Stream, count: int) -> Floats:
    return stream.normal(count) + np.arange(count) * (2.5 / 500.0)


def spiked(stream: Stream, count: int) -> Floats:
    hit = stream.uniform(count) < 0.02
    return stream.normal(count) - hit * (10.0 + 10.0 * stream.uniform(count))


def quantised(stream: Stream, count: int) -> Floats:
    """About 20 levels, multiples of .3: sums of them are rounded."""
    return np.floor(stream.normal(count) / 0.3) * 0.3


def coarse(stream: Stream, count: int) -> Floats:
    """Three or four levels: ties everywhere."""
    return np.floor(stream.normal(count) / 2.0) * 2.0


def binary(stream: Stream, count: int) -> Floats:
    return np.asarray(stream.uniform(count) < 0.2, dtype=np.float64)


def constant(stream: Stream, count: int) -> Floats:
    return np.zeros(count)


def rarely(stream: Stream, count: int) -> Floats:
    """Constant but for one value in fifty."""
    return stream.normal(count) * (stream.uniform(count) < 0.02)


def patches(stream: Stream, count: int) -> Floats:
    """Levels that come and go, without noise, of few distinct sizes."""
    changes = np.cumsum(stream.uniform(count) < 0.05)
    levels = np.floor(stream.uniform(int(changes[-1]) + 1) * 3.0)
    return np.asarray(levels[changes], dtype=np.float64)


NOISES: Mapping[str, Noise] = {
    "gauss": lambda stream, count: stream.normal(count),
    "t3": t3,
    "bimodal": bimodal,
    "autocorrelated": autocorrelated,
    "drifting": drifting,
    "spiked": spiked,
    "quantised": quantised,
    "coarse": coarse,
    "binary": binary,
    "constant": constant,
    "rarely": rarely,
    "patches": patches,
}

LEVELS = (100.0, 100.0, 100.0, 0.0, -50.0, 1e-3, 1e12)
"""The levels drawn from, and the noise is 2 % of them (2 around zero)."""


@dataclass(frozen=True)
class Drawn:
    """A series and how it came about."""

    noise: str
    seed: int
    values: list[float | None]


def draw(noise: str, seed: int, longest: int) -> Drawn:
    """A series of 2 to ``longest`` values, short ones as frequent as long ones.

    Two in three have up to five steps, one in four has missing values.
    """
    stream = Stream(seed)
    octaves = longest.bit_length() - 1
    reach = min(2 ** (stream.integer(1, octaves + 1) + 1), longest + 1)
    count = stream.integer(2, reach)
    level = LEVELS[stream.integer(0, len(LEVELS))]
    values = NOISES[noise](stream, count)
    for _ in range(stream.integer(0, 6) if stream.integer(0, 3) else 0):
        size = (-5.0, -2.5, -1.5, -1.0, 1.0, 1.5, 2.5, 5.0)[stream.integer(0, 8)]
        values[stream.integer(0, count) :] += size
    values = level + values * (0.02 * level if level else 2.0)
    listed: list[float | None] = [*values.tolist()]
    if stream.integer(0, 4) == 0:
        share = stream.uniform(1)[0] * 0.3
        gone = stream.uniform(count) < share
        listed = [None if g else v for g, v in zip(gone, listed, strict=True)]
    return Drawn(noise, seed, listed)


def collection(seed: int, count: int, longest: int) -> list[Drawn]:
    """``count`` series, the kinds of noise in turn."""
    kinds = list(NOISES)
    return [draw(kinds[i % len(kinds)], seed + i, longest) for i in range(count)]
