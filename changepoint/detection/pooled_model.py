"""The result of a pooled search of many series: immutable types with a JSON form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, get_args

from changepoint.model import Position, SegmentLevel
from changepoint.to_json import plain

Rows = Literal["positions", "runs"]
"""The unit that the joint test shuffles: positions, or runs."""


@dataclass(frozen=True, slots=True)
class PooledMember:
    """One series of a group at a shared change; see :class:`changepoint.ChangePoint`."""

    name: str
    before: SegmentLevel
    after: SegmentLevel
    effect: float
    effect_interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class SharedChange:
    """A position where series of a group change together.

    Attributes:
        index: index of the first row after the change.
        position: label of the position that this row belongs to.
        interval: labels of the first and the last position that may be the true one, at 95 %.
        pvalue: probability of a split this good anywhere in the searched stretch if no series
            changed in it.
        together: whether the evidence for all series moving alike was stronger than the evidence
            for some of them moving.
        members: the series with values on both sides, in the given order. Their intervals hold
            individually, and show which series take part.
    """

    index: int
    position: Position
    interval: tuple[Position, Position]
    pvalue: float
    together: bool
    members: tuple[PooledMember, ...]


@dataclass(frozen=True, slots=True)
class Pooled:
    """The result of :func:`changepoint.pooled`: the changes that series of a group share.

    changes: in order. rows: the shuffled unit. alarm_probability: the significance level of one
    search.
    """

    changes: tuple[SharedChange, ...]
    rows: Rows
    alarm_probability: float

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain dicts, lists, strings and finite numbers."""
        tree: dict[str, Any] = plain(asdict(self))
        return tree

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Self:
        """Read a result back from :meth:`to_dict`. Raises ValueError if it is invalid."""
        try:
            if tree["rows"] not in get_args(Rows):
                raise ValueError(f"invalid rows {tree['rows']!r}")
            return cls(
                changes=tuple(_change(c) for c in tree["changes"]),
                rows=tree["rows"],
                alarm_probability=float(tree["alarm_probability"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the saved pooled detection is invalid: {error!r}") from error

    def to_json(self) -> str:
        """Return the result as standard JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a result back from the text of :meth:`to_json`."""
        return cls.from_dict(json.loads(text))


def _change(tree: Mapping[str, Any]) -> SharedChange:
    first, last = tree["interval"]
    return SharedChange(
        index=int(tree["index"]),
        position=tree["position"],
        interval=(first, last),
        pvalue=float(tree["pvalue"]),
        together=bool(tree["together"]),
        members=tuple(
            PooledMember(
                name=str(m["name"]),
                before=SegmentLevel(**m["before"]),
                after=SegmentLevel(**m["after"]),
                effect=float(m["effect"]),
                effect_interval=(float(m["effect_interval"][0]), float(m["effect_interval"][1])),
            )
            for m in tree["members"]
        ),
    )
