"""The result of a detection: immutable types with a JSON form.

Every number is a finite float except two, which may be infinite: an effect relative to a level of
zero, and the detectable effect of a series that can show none. JSON has no infinity, so those are
written as the strings ``"inf"`` and ``"-inf"``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

Position = int | float | str
"""The caller's label of a position: any sortable type that JSON supports."""

Direction = Literal["increase", "decrease"]


@dataclass(frozen=True, slots=True)
class SegmentLevel:
    """The level of one part of a series between changes, and its noise.

    level: robust mean, in the unit of the values. spread: standard deviation of one value around
    it, outlying replicates clipped, same unit. count: number of measured values.
    """

    level: float
    spread: float
    count: int


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A position where the level or the spread of a series changes.

    Attributes:
        index: index into the caller's values of the first measured value after the change.
        position: label of the position that value belongs to.
        interval: labels of the first and the last position that may be the true ``position``,
            at 95 % confidence, both included.
        before: the level from the previous change (or the start) up to this one.
        after: the level from this change up to the next one (or the end).
        effect: relative change of level, (after - before) / |before|, so that its sign is the
            direction whatever the sign of the levels; infinite if the level before is zero. For
            a change of spread it is the relative change of the spread, infinite if that was zero.
        effect_interval: 95 % confidence interval of ``effect``; bounds may be infinite.
        pvalue: probability of a split this good anywhere in the searched stretch if nothing
            changed in it.
        kind: ``"level"``, or ``"spread"`` around the level.
    """

    index: int
    position: Position
    interval: tuple[Position, Position]
    before: SegmentLevel
    after: SegmentLevel
    effect: float
    effect_interval: tuple[float, float]
    pvalue: float
    kind: Literal["level", "spread"] = "level"

    @property
    def direction(self) -> Direction:
        """The direction of the change of level or spread."""
        return "increase" if self.effect > 0.0 else "decrease"


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a series between neighbouring changes.

    start, stop: half-open range of indices into the caller's values; the segments of a
    detection tile all of them. first, last: labels of the outermost measured positions.
    """

    start: int
    stop: int
    first: Position
    last: Position
    level: SegmentLevel


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of a series, with its changes removed.

    scale: standard deviation of a replicate around its position (of a value around its segment
    if there are no replicates). between: standard deviation of the positions around their
    segment beyond what their replicates explain; 0 if there are no replicates. quantum:
    smallest step between different values of one segment if values repeat, otherwise 0.
    All three in the unit of the values. tails: share of positions more than 3 robust deviations
    from the median of their segment; .003 if normal. autocorrelation: correlation of neighbouring
    positions; 0 if there are too few positions.
    """

    scale: float
    between: float
    quantum: float
    tails: float
    autocorrelation: float


@dataclass(frozen=True, slots=True)
class Detection:
    """The result of :func:`changepoint.detect`: changes, segments and noise of a series.

    changes: the changes to report, in order, after the filters for direction and effect. segments:
    the series cut at every change that is large enough, whatever its direction. noise: the noise
    around those segments. method: the name of the method. alarm_probability: the significance level
    of one search. detectable_effect: the step, as a fraction of the last level, that would be found
    with a power of 80 % in the middle of an unchanged series of this length and noise; infinite if
    none could be. detectable_fresh: the same for a step that only the last five positions have.
    """

    changes: tuple[ChangePoint, ...]
    segments: tuple[Segment, ...]
    noise: Noise
    method: str
    alarm_probability: float
    detectable_effect: float
    detectable_fresh: float

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain dicts, lists, strings and finite numbers."""
        tree: dict[str, Any] = _encode(asdict(self))
        return tree

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Self:
        """Read a result back from :meth:`to_dict`. Raises ValueError if it is invalid."""
        try:
            return cls(
                changes=tuple(_change(c) for c in tree["changes"]),
                segments=tuple(_segment(s) for s in tree["segments"]),
                noise=Noise(**{k: float(v) for k, v in tree["noise"].items()}),
                method=str(tree["method"]),
                alarm_probability=float(tree["alarm_probability"]),
                detectable_effect=float(tree["detectable_effect"]),
                detectable_fresh=float(tree["detectable_fresh"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the saved detection is invalid: {error!r}") from error

    def to_json(self) -> str:
        """Return the result as standard JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a result back from the text of :meth:`to_json`."""
        return cls.from_dict(json.loads(text))


def _encode(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _encode(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_encode(value) for value in node]
    if isinstance(node, float) and math.isinf(node):
        return "inf" if node > 0 else "-inf"
    return node


def _level(tree: Mapping[str, Any]) -> SegmentLevel:
    return SegmentLevel(float(tree["level"]), float(tree["spread"]), int(tree["count"]))


def _segment(tree: Mapping[str, Any]) -> Segment:
    return Segment(
        int(tree["start"]), int(tree["stop"]), tree["first"], tree["last"], _level(tree["level"])
    )


def _change(tree: Mapping[str, Any]) -> ChangePoint:
    first, last = tree["interval"]
    low, high = tree["effect_interval"]
    return ChangePoint(
        index=int(tree["index"]),
        position=tree["position"],
        interval=(first, last),
        before=_level(tree["before"]),
        after=_level(tree["after"]),
        effect=float(tree["effect"]),
        effect_interval=(float(low), float(high)),
        pvalue=float(tree["pvalue"]),
        kind=tree["kind"],
    )
