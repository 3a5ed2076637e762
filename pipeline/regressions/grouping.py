"""Group shifts (changes of single series) into regressions, one for each cause."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pipeline.model import (
    Mode,
    Regression,
    RegressionKind,
    Shift,
    digest,
)
from pipeline.text.errors import UserError


def group_shifts(shifts: Sequence[Shift]) -> list[Regression]:
    """Group shifts that can have the same cause into regressions, worst first.

    Shifts can have one cause if they share the line, the kind and the direction (worse or better),
    and their intervals share a position. The shift with the best-known position gives its group the
    position. A shift that fits several groups joins the nearest.
    """
    groups: list[_ShiftGroup] = []
    for shift in sorted(shifts, key=certainty_key):
        fitting = [group for group in groups if group.fits(shift)]
        if fitting:
            min(fitting, key=lambda group: abs(group.surest.position - shift.position)).add(shift)
        else:
            groups.append(_ShiftGroup(shift))
    return sorted((_regression(group.shifts) for group in groups), key=_badness)


def certainty_key(shift: Shift) -> tuple[int, float, float, str, str]:
    """Return the sort key of a shift: most certain position first, then lowest p-value.

    Of creeps, the longest comes first, because it reaches from the anchor to the newest revision.
    """
    key = shift.series
    width = shift.latest - shift.earliest
    if shift.kind is RegressionKind.CREEP:
        width = -width
    return (width, shift.pvalue, -effect_size(shift), key.step, key.metric)


FROM_ZERO = 1.0
"""The relative size assigned to a change from a level of zero, whose ratio is infinite. It equals a
total loss, so the change does not outrank an equally large change of throughput."""


def effect_size(shift: Shift) -> float:
    """Return the size of a change as a fraction of the level before, without its sign."""
    return abs(shift.effect) if math.isfinite(shift.effect) else FROM_ZERO


def worst(regression: Regression) -> Shift:
    """Return the largest shift of a regression."""
    return max(regression.shifts, key=effect_size)


def clearest(regression: Regression, count: int, mode: Mode | None = None) -> list[Shift]:
    """Return the shifts of a regression that are clear enough to measure again, largest first.

    All of them belong to one cell: that of the largest change, where the cause shows most clearly.
    If counted changes explain the regression, the cell is chosen among theirs, because one run of a
    counted cell is exact. Only the ``count`` largest shifts of the cell are returned, because they
    share the error probability. With a ``mode``, only changes of that mode count. Raises UserError
    if there is no such change, and if every changed level is zero on one side.
    """
    shifts = [
        shift
        for shift in regression.shifts
        if not shift.kind.of_levels or (shift.before > 0 and shift.after > 0)
    ]
    if mode is not None:
        shifts = [shift for shift in shifts if shift.series.mode is mode]
        if not shifts:
            raise UserError(
                f"regression {regression.fingerprint} has no series that was measured in mode "
                f"{mode}; choose the other mode"
            )
    if not shifts:
        raise UserError(
            f"regression {regression.fingerprint} cannot be confirmed: all its levels before or "
            "after the change are zero, so there is no ratio; inspect its runs and acknowledge it "
            "by hand"
        )
    counts = explaining_counts(regression) if mode is None else []
    place = cell_of(max(counts or shifts, key=effect_size))
    beside = [shift for shift in shifts if cell_of(shift) == place]
    return sorted(beside, key=effect_size, reverse=True)[:count]


EXPLAINED = 0.5
"""Smallest change of instructions that explains a timed change, as a fraction of the timed change.
Both changes are logarithms of a ratio."""


def explaining_counts(regression: Regression) -> list[Shift]:
    """Return the shifts in instructions that explain a regression; empty if they do not."""
    levels = [shift for shift in regression.shifts if shift.before > 0 and shift.after > 0]
    counted = [shift for shift in levels if shift.series.mode is Mode.COUNT]
    timed = [shift for shift in levels if shift.series.mode is Mode.TIME and shift.kind.of_levels]
    most = max(map(_growth, timed), default=0.0)
    explained = max(map(_growth, counted), default=0.0) >= EXPLAINED * most
    return counted if explained else []


def _growth(shift: Shift) -> float:
    return abs(math.log(shift.after / shift.before))


def machine_of(regression: Regression) -> str:
    """Return the machine class on which a regression shows most clearly, to measure it there."""
    try:
        return clearest(regression, 1)[0].series.machine_class
    except UserError:
        return worst(regression).series.machine_class


def cell_of(shift: Shift) -> tuple[str, str, str, str]:
    """Return the key of a shift's cell: what was measured, except the revision."""
    key = shift.series
    return key.workload_hash, key.config, key.build_options, key.machine_class


def _badness(regression: Regression) -> tuple[bool, float, int]:
    return (not regression.worse, -effect_size(worst(regression)), regression.position)


class _ShiftGroup:
    """Shifts that can have the same cause: all their intervals share a position.

    ``surest`` is the shift whose position is best known.
    """

    def __init__(self, surest: Shift) -> None:
        self.surest = surest
        self.shifts = [surest]
        self._series = {surest.series}
        self._earliest, self._latest = surest.earliest, surest.latest

    def fits(self, other: Shift) -> bool:
        """Whether a shift can have the same cause as this group."""
        return (
            other.earliest <= self._latest
            and self._earliest <= other.latest
            and self.surest.kind is other.kind
            and self.surest.worse == other.worse
            and self.surest.series.line == other.series.line
            # Two changes of one series have two causes.
            and other.series not in self._series
        )

    def add(self, other: Shift) -> None:
        """Add a shift to the group; :meth:`fits` must be true for it."""
        self.shifts.append(other)
        self._series.add(other.series)
        self._earliest = max(self._earliest, other.earliest)
        self._latest = min(self._latest, other.latest)


def _regression(group: Sequence[Shift]) -> Regression:
    surest = group[0]
    key = surest.series
    return Regression(
        fingerprint=_fingerprint(surest),
        line=key.line,
        target=key.target,
        last_good=surest.last_good,
        first_bad=surest.first_bad,
        position=surest.position,
        worse=surest.worse,
        kind=surest.kind,
        shifts=tuple(sorted(group, key=lambda s: (-effect_size(s), s.series.step))),
    )


def _fingerprint(shift: Shift) -> str:
    """Return the fingerprint of a regression, from the shift whose position is surest.

    A creep is identified by its anchor, because its newest revision changes every night.
    """
    key = shift.series
    end = shift.last_good if shift.kind is RegressionKind.CREEP else shift.first_bad
    return digest([key.target, key.line, end, shift.worse, shift.kind.value])[:12]


def by_cause(regressions: Iterable[Regression]) -> list[tuple[Regression, ...]]:
    """Group regressions that have the same confirmed culprit; keep the order of the groups.

    Such regressions had change points too far apart to be grouped, or lie on different lines (other
    workloads or builds). The culprit's parent must be the same, too: a change between two major
    versions is not one within a major version.
    """
    causes: dict[tuple[str, ...], list[Regression]] = {}
    for one in regressions:
        culprit = one.culprit
        cause = (
            ("culprit", one.target, culprit.parent, culprit.revision)
            if one.worse and culprit is not None and culprit.confirmed
            else ("regression", one.fingerprint)
        )
        causes.setdefault(cause, []).append(one)
    return [tuple(found) for found in causes.values()]
