"""Types for series, changes in them, and regressions."""

from __future__ import annotations

import math
from enum import StrEnum
from fnmatch import fnmatchcase

from pydantic import Field

from pipeline.model.base import Frozen
from pipeline.model.cells import Mode


class SeriesKey(Frozen):
    """The identity of a series: everything that its measurements have in common.

    ``config`` is the configuration's family, ``workload`` the workload's name and ``workload_hash``
    its digest.
    """

    line: str
    target: str
    config: str
    build_options: str
    machine_class: str
    workload: str
    workload_hash: str
    clients: int
    step: str
    group: str
    unit: str
    metric: str
    # Omitted for timed series, which keeps identifiers of evidence from before counted ones.
    mode: Mode = Field(default=Mode.TIME, exclude_if=lambda mode: mode is Mode.TIME)


class Pattern(Frozen):
    """A selection of series by shell patterns, such as ``step = "scan*"``."""

    target: str = "*"
    line: str = "*"
    workload: str = "*"
    step: str = "*"
    metric: str = "*"

    def matches(self, key: SeriesKey) -> bool:
        """Return whether the pattern selects a series."""
        return all(fnmatchcase(getattr(key, name), pattern) for name, pattern in self)


class RegressionKind(StrEnum):
    """What changed: a level, the spread between runs, an SLA, or a level bit by bit (creep).

    A creep is a cumulative change of the level against an anchor that no single step shows.
    """

    LEVEL = "level"
    SPREAD = "spread"
    SLA = "sla"
    CREEP = "creep"

    @property
    def of_levels(self) -> bool:
        """Whether a level changed, so that the ratio of the two levels describes the change."""
        return self in (RegressionKind.LEVEL, RegressionKind.CREEP)


class Contribution(Frozen):
    """What one revision contributes to a creep, relative to the level at the anchor.

    If ``step`` is true, the change was reported on its own and is not part of the creep; ``effect``
    is then relative to the level just before the change.
    """

    revision: str
    effect: float
    low: float
    high: float
    step: bool = False


class CreepParts(Frozen):
    """What a creep consists of: its largest contributions in order, and the remainder.

    The contributions that are not steps, and the remainder, add up to the effect of the shift.
    """

    contributions: tuple[Contribution, ...]
    remainder: float
    remainder_low: float
    remainder_high: float


class Shift(Frozen):
    """A change of one series, from the last good revision to the first bad one.

    ``effect`` is the relative change of the level, ``worse`` is true if the change is in the bad
    direction. ``first_bad`` is the first revision at the new level, ``last_good`` the one before
    it; ``earliest`` and ``latest`` bound the position with the detector's confidence. For the
    ``kind`` spread, ``before``, ``after`` and the effect refer to the standard deviation. A creep
    is a shift from its anchor, ``last_good``, to the newest revision, ``first_bad``, with its
    ``parts``; reported steps are not part of it, and ``after`` is the level without them.
    """

    series: SeriesKey
    position: int
    earliest: int
    latest: int
    last_good: str
    first_bad: str
    before: float
    after: float
    effect: float
    effect_low: float
    effect_high: float
    pvalue: float
    worse: bool
    kind: RegressionKind = RegressionKind.LEVEL
    parts: CreepParts | None = Field(default=None, exclude_if=lambda parts: parts is None)


class RegressionState(StrEnum):
    """The state of a regression (suspected, confirmed, ...); only confirmed ones are filed."""

    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    WONT_FIX = "won't fix"


class Culprit(Frozen):
    """The revision that caused a regression, as bisection found it.

    ``revision`` is the first bad one and ``parent`` the last good one. ``between`` has revisions
    that cannot be excluded, because they were not or cannot be measured. ``probability`` is the
    probability that the culprit is in this range. ``confirmed`` means that ``parent`` and
    ``revision`` were compared again, with separate runs. ``subject`` is the first line of a
    commit's message, with its author.
    """

    revision: str
    parent: str
    between: tuple[str, ...] = ()
    probability: float
    confirmed: bool
    subject: str = ""

    def __str__(self) -> str:
        """Describe the culprit in one line: a revision, or a range with its probability."""
        if not self.confirmed:
            # Rounded down: 99.6 % must not show as 100 %.
            sure = f"{math.floor(100 * self.probability)} %"
            return f"after {self.parent} and up to {self.revision} ({sure} probability)"
        subject = f": {self.subject}" if self.subject else ""
        others = f", or {', '.join(self.between)} (not measured)" if self.between else ""
        return f"{self.revision}{subject}{others}; its parent is {self.parent}"


class Excused(Frozen):
    """A change of a series that is no regression, because the machine may explain it."""

    machine: str
    shift: Shift


class Regression(Frozen):
    """Changes of many series with one cause: one line and one range of revisions.

    An improvement is the same with ``worse`` false. ``fingerprint`` stays the same from night to
    night, so that one cause gives one issue. ``recovers`` is, for an improvement, the fingerprint
    of the regression that it undid. ``culprit`` is the result of a bisection. State, ``recovers``
    and culprit come from the journal; stored evidence has none of them.
    """

    fingerprint: str
    line: str
    target: str
    last_good: str
    first_bad: str
    position: int
    worse: bool
    shifts: tuple[Shift, ...]
    kind: RegressionKind = RegressionKind.LEVEL
    state: RegressionState = RegressionState.SUSPECTED
    recovers: str = ""
    culprit: Culprit | None = None
