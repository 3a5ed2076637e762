"""Check and prepare a caller's series: group values by position, drop gaps, scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from operator import le, ne
from typing import Any

import numpy as np
from numpy.typing import NDArray

from changepoint.model import Position
from changepoint.noise import clip_replicates, replicate_scale

RESOLUTION = 1e-12
"""Share of the largest magnitude below which differences are rounding errors, not measurements: a
double has 2e-16, and a metric is the product of a few divisions."""

LARGEST = 1e300
"""Larger magnitudes are rejected: the difference of two could overflow a double."""

LARGEST_EXPONENT = 700.0
"""Largest argument of exp(): the result for a larger one could overflow a double."""

TIE = 1.0 - 1e-9
"""Ratio from which a sum counts as equal to another: sums of the same numbers in another order
differ in their last digits."""

ANCHORS = 11
"""Values at the start of a series whose median is the origin of its scale: enough that five spikes
do not move it, and few enough that it soon stays constant while the series grows."""

Floats = NDArray[np.float64]
Positions = Sequence[Position] | NDArray[Any]
Ints = NDArray[np.int64]
Label = Callable[[int], Position]
"""The type of a function from an index into the caller's values to the label of its position."""


@dataclass(frozen=True)
class GroupedSeries:
    """The measured values of a series, grouped by position.

    scaled: (n,) measured values, in order, scaled to a magnitude of at most 1, so that squares
    neither overflow nor underflow; ``origin + unit * scaled`` restores them. unit is a power of two
    and origin depends only on the first ``ANCHORS`` values: a growing series keeps its scaled
    values, except for an exact factor when a larger value arrives. offsets: (positions + 1,) where
    each position starts in ``scaled``. indices: (n,) index into the caller's values. length: number
    of the caller's values, including missing ones. measured: (n,) the original values of
    ``scaled``. places: (positions,) index of each position among all of the caller's, including
    those without a value; extent: their number.
    """

    scaled: Floats
    origin: float
    unit: float
    offsets: Ints
    indices: Ints
    length: int
    measured: Floats
    places: Ints
    extent: int
    _label: Label = field(repr=False)

    @property
    def positions(self) -> int:
        """How many positions have a measured value."""
        return len(self.offsets) - 1

    @cached_property
    def replicate_scale(self) -> float:
        """The robust standard deviation between the scaled values of a position; 0 without any."""
        return replicate_scale(self.scaled, self.offsets)

    @cached_property
    def clipped(self) -> Floats:
        """The scaled values, (n,), with outliers among the replicates of a position clipped."""
        return clip_replicates(self.scaled, self.offsets, self.replicate_scale)

    def start(self, ordinal: int) -> int:
        """Return the index, in the caller's values, of the first value of a position."""
        return int(self.indices[self.offsets[ordinal]])

    def label(self, ordinal: int) -> Position:
        """Return the caller's label of a position."""
        return self._label(self.start(ordinal))

    @property
    def labels(self) -> tuple[Position, ...]:
        """The caller's label of every position; computed at each call."""
        return tuple(map(self._label, self.indices[self.offsets[:-1]].tolist()))


def read(values: Sequence[float | None] | Floats, positions: Positions | None) -> GroupedSeries:
    """Check the caller's values and positions and group them.

    Raises ValueError, with a message of one sentence, if values are not one-dimensional numbers, if
    a value is infinite or beyond 1e300, or if positions are of another length, missing or not
    sorted.
    """
    given = _numbers(values)
    kept = np.flatnonzero(~np.isnan(given))
    measured = given[kept]
    scaled, origin, unit = _scale(measured)
    if positions is None:
        offsets, places, extent = np.arange(len(kept) + 1), kept, len(given)
        label: Label = int
    else:
        label, new = _grouped(positions, len(given))
        ordinals = np.cumsum(new) - 1
        own = ordinals[kept]
        starts = np.flatnonzero(np.diff(own, prepend=-1))
        offsets, places = np.append(starts, len(kept)), own[starts]
        extent = int(ordinals[-1]) + 1 if len(given) else 0
    return GroupedSeries(
        scaled=scaled,
        origin=origin,
        unit=unit,
        offsets=offsets.astype(np.int64, copy=False),
        indices=kept.astype(np.int64, copy=False),
        length=len(given),
        measured=measured,
        places=places.astype(np.int64, copy=False),
        extent=extent,
        _label=label,
    )


def _numbers(values: Sequence[float | None] | Floats) -> Floats:
    if isinstance(values, np.ndarray) and values.dtype.kind == "c":
        raise ValueError("values must be real numbers, None or NaN, not complex numbers")
    try:
        # A wider float that overflows is infinite and rejected as such.
        with np.errstate(over="ignore"):
            given = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"values must be numbers, None or NaN: {error}") from None
    if given.ndim != 1:
        raise ValueError(f"values must be one-dimensional, not of shape {given.shape}")
    beyond = np.flatnonzero(np.abs(given) > LARGEST)
    if len(beyond):
        raise ValueError(
            f"each value must be within ±{LARGEST:g}, or NaN if missing, but value {beyond[0]} "
            f"is {given[beyond[0]]:g}"
        )
    return given


def _grouped(positions: Positions, length: int) -> tuple[Label, NDArray[np.bool_]]:
    """Return the checked labels of positions, and where a new position begins."""
    if len(positions) != length:
        raise ValueError(f"{length} values need {length} positions, not {len(positions)}")
    if isinstance(positions, np.ndarray) and positions.ndim == 1 and positions.dtype.kind in "iuf":
        given = positions.copy()
        if given.dtype.kind == "f" and not np.all(np.isfinite(given)):
            i = int(np.flatnonzero(~np.isfinite(given))[0])
            raise ValueError(_no_label(i, given[i].item()))
        disorder = np.flatnonzero(given[1:] < given[:-1])
        if len(disorder):
            i = int(disorder[0]) + 1
            raise ValueError(_not_sorted(i, given[i - 1].item(), given[i].item()))
        return given.item, np.append(True, given[1:] != given[:-1])[:length]
    labels = list(positions)
    kinds = set(map(type, labels))
    if any(issubclass(kind, np.generic) for kind in kinds):
        labels = [p.item() if isinstance(p, np.generic) else p for p in labels]
        kinds = set(map(type, labels))
    if not all(issubclass(kind, int | float | str) for kind in kinds) or (
        any(issubclass(kind, float) for kind in kinds)
        and not all(math.isfinite(p) for p in labels if isinstance(p, float))
    ):
        i = next(i for i, label in enumerate(labels) if not _is_label(label))
        raise ValueError(_no_label(i, labels[i]))
    if len({issubclass(kind, str) for kind in kinds}) > 1:
        raise ValueError("positions must be all numbers or all strings")
    # map and operators, not a loop: both run at the speed of C over a million labels.
    if not all(map(le, labels, islice(labels, 1, None))):
        i = next(i for i in range(1, length) if not le(labels[i - 1], labels[i]))
        raise ValueError(_not_sorted(i, labels[i - 1], labels[i]))
    new = np.ones(length, dtype=np.bool_)
    new[1:] = np.fromiter(
        map(ne, labels, islice(labels, 1, None)), dtype=np.bool_, count=max(length - 1, 0)
    )
    return labels.__getitem__, new


def _is_label(label: object) -> bool:
    return isinstance(label, int | str) or (isinstance(label, float) and math.isfinite(label))


def _no_label(index: int, label: object) -> str:
    return f"positions must be numbers or strings, but position {index} is {label!r}"


def _not_sorted(index: int, former: Position, latter: Position) -> str:
    return f"positions must be sorted, but position {index} ({latter!r}) follows {former!r}"


def _scale(measured: Floats) -> tuple[Floats, float, float]:
    """Return values minus their origin, divided by a power of two; the origin; and the divisor.

    No scaled value exceeds 1. All are 0, with the divisor 1, if they only differ by rounding
    errors.
    """
    if not len(measured):
        return np.zeros(0), 0.0, 1.0
    origin = origin_of(measured)
    reach = float(np.max(np.abs(measured - origin)))
    exponent = exponent_of(reach, float(np.max(np.abs(measured))))
    unit = 1.0 if exponent is None else math.ldexp(1.0, exponent)
    return scaled_values(measured, origin, exponent), origin, unit


def scaled_values(measured: Floats, origin: float, exponent: int | None) -> Floats:
    """Return values minus an origin, divided by a power of two; zeros without an exponent."""
    if exponent is None:
        return np.zeros(len(measured))
    return np.ldexp(measured - origin, -exponent)


def origin_of(measured: Floats) -> float:
    """Return the origin that is subtracted from values before scaling."""
    # A measured value, not a mean of two: subtracting it then leaves equal values at exactly 0.
    first = sorted(measured[:ANCHORS].tolist())
    return float(first[(len(first) - 1) // 2])


def exponent_of(reach: float, magnitude: float) -> int | None:
    """Return the power of two for scaling; None if values differ only by rounding.

    reach: largest distance of a value from the origin. magnitude: largest absolute value.
    """
    # Compared as shares of a power of two: a product with RESOLUTION may underflow.
    if math.ldexp(reach, -math.frexp(magnitude)[1]) <= RESOLUTION:
        return None
    return math.frexp(reach)[1]
