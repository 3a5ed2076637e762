"""From what the caller has to what the methods work on: checked, without gaps, scaled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from changepoint.model import Position

RESOLUTION = 1e-12
"""Differences smaller than this share of the largest magnitude are arithmetic, not measurement:
a double carries 2e-16, and a metric is the product of a few divisions."""

LARGEST = 1e300
"""Larger magnitudes are refused: the difference of two could overflow a double."""

Floats = NDArray[np.float64]
Positions = Sequence[Position] | NDArray[Any]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Series:
    """Measured values, grouped by position.

    scaled: (n,) measured values, in order, brought to magnitude 1 at most around 0, so that
    squares neither overflow nor vanish; ``origin + unit * scaled`` gives them back.
    offsets: (positions + 1,) where each position starts in ``scaled``.
    labels: the caller's label of each position. indices: (n,) place in the caller's values.
    length: how many values the caller gave, missing ones included. measured: (n,) the values
    behind ``scaled`` as they were given. places: (positions,) which of the caller's positions each
    one is, those without a value counted; extent: how many there are with those.
    """

    scaled: Floats
    origin: float
    unit: float
    offsets: Ints
    labels: tuple[Position, ...]
    indices: Ints
    length: int
    measured: Floats
    places: Ints
    extent: int

    @property
    def positions(self) -> int:
        """The number of positions with a measured value."""
        return len(self.labels)


def read(values: Sequence[float | None] | Floats, positions: Positions | None) -> Series:
    """Check the caller's values and positions and group them.

    Raises ValueError, one sentence, if values are not one-dimensional numbers, if one is
    infinite or beyond 1e300, or if positions are of another length, missing or not sorted.
    """
    given = _numbers(values)
    kept = np.flatnonzero(~np.isnan(given))
    measured = given[kept]
    if positions is None:
        scaled, origin, unit = _scale(measured)
        return Series(
            scaled=scaled,
            origin=origin,
            unit=unit,
            offsets=np.arange(len(kept) + 1, dtype=np.int64),
            labels=tuple(kept.tolist()),
            indices=kept.astype(np.int64),
            length=len(given),
            measured=measured,
            places=kept.astype(np.int64),
            extent=len(given),
        )
    labels = _labels(positions, len(given))
    names = [labels[i] for i in kept]
    starts = [i for i, name in enumerate(names) if i == 0 or name != names[i - 1]]
    scaled, origin, unit = _scale(measured)
    places = _places(labels)
    return Series(
        scaled=scaled,
        origin=origin,
        unit=unit,
        offsets=np.array([*starts, len(names)], dtype=np.int64),
        labels=tuple(names[i] for i in starts),
        indices=kept.astype(np.int64),
        length=len(given),
        measured=measured,
        places=places[kept[starts]],
        extent=int(places[-1]) + 1 if len(given) else 0,
    )


def _numbers(values: Sequence[float | None] | Floats) -> Floats:
    try:
        given = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"values must be numbers, None or nan: {error}") from None
    if given.ndim != 1:
        raise ValueError(f"values must be one-dimensional, not of shape {given.shape}")
    beyond = np.flatnonzero(np.abs(given) > LARGEST)
    if len(beyond):
        raise ValueError(
            f"values must be missing or within ±{LARGEST:g}, but value {beyond[0]} is "
            f"{given[beyond[0]]:g}"
        )
    return given


def _labels(positions: Positions, length: int) -> list[Position]:
    if len(positions) != length:
        raise ValueError(f"{length} values need as many positions, not {len(positions)}")
    labels = [p.item() if isinstance(p, np.generic) else p for p in positions]
    for i, label in enumerate(labels):
        if not isinstance(label, int | float | str) or (
            isinstance(label, float) and not math.isfinite(label)
        ):
            raise ValueError(f"positions must be numbers or strings, but position {i} is {label!r}")
    for i, (former, latter) in enumerate(pairwise(labels), start=1):
        if isinstance(former, str) != isinstance(latter, str):
            raise ValueError("positions must be all numbers or all strings")
        if latter < former:  # type: ignore[operator] # both are of one kind, as just checked
            raise ValueError(
                f"positions must be sorted, but position {i} ({latter!r}) follows {former!r}"
            )
    return labels


def _places(labels: list[Position]) -> Ints:
    """Which position each of the sorted labels belongs to, from 0."""
    new = [former != latter for former, latter in pairwise(labels)]
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(new, dtype=np.int64)))


def _scale(measured: Floats) -> tuple[Floats, float, float]:
    """Values around 0 with a largest magnitude of 1 (all 0 if they do not differ)."""
    magnitude = float(np.max(np.abs(measured), initial=0.0))
    if magnitude == 0.0:
        return np.zeros(len(measured)), 0.0, 1.0
    # Down to magnitude 1 first: the difference of two huge values may overflow, the
    # difference of their shares cannot. The exponent alone, so that nothing is rounded.
    exponent = np.frexp(magnitude)[1]
    shares = np.ldexp(measured, -exponent)
    centre = float(np.median(shares))
    centred = shares - centre
    reach = float(np.max(np.abs(centred)))
    origin = float(np.ldexp(centre, exponent))
    if reach <= RESOLUTION:
        return np.zeros(len(measured)), origin, 1.0
    return centred / reach, origin, float(np.ldexp(reach, exponent))
