"""Find creep: a slow loss since an accepted revision (the anchor) that no single step shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from changepoint import Creep, CreepTest
from changepoint.comparison.verdict import Better
from pipeline.model import Contribution, CreepParts, RegressionKind, SeriesKey, Shift
from pipeline.model.metrics import LEAST_CHANGE, is_worse
from pipeline.regressions.anchors import Anchors
from pipeline.regressions.counted import is_counted
from pipeline.regressions.grouping import group_shifts
from pipeline.regressions.rules import DetectionSettings, Rules
from pipeline.regressions.shifts import MOST_LOST
from pipeline.regressions.watched import SLA
from pipeline.storage.series import Series

LISTED = 10
"""Maximum number of contributions listed for a creep, the largest ones; the others are in the
remainder."""


class CreepSearch(NamedTuple):
    """Creep found in series, and the steps that are part of a creep and not reported separately."""

    found: list[Shift]
    absorbed: list[Shift]


def find_creep(
    series: Sequence[Series], shifts: Sequence[Shift], rules: Rules, places: Anchors
) -> CreepSearch:
    """Search timed series for creep; the steps in ``shifts`` are subtracted.

    Steps that other series of the line show are subtracted from every series, because one commit
    slows many series, some of them too little to show a step of their own. ``places`` are the
    anchors.
    """
    own: dict[SeriesKey, list[Shift]] = {}
    for shift in shifts:
        if shift.kind is RegressionKind.LEVEL:
            own.setdefault(shift.series, []).append(shift)

    tests = [
        _SeriesTest.of(
            one,
            own.get(one.key, []),
            rules.settings_of(one.key, len(series)),
            places.get(one.key.line, 0),
        )
        for one in series
    ]
    # Whether a creep is there at all is asked once, when all steps are known.
    absorbing = [test.search() for test in tests if test.absorbs()]
    absorbed = [shift for got in absorbing if got is not None for shift in got[1]]
    others: dict[str, list[int]] = {}
    taken = set(absorbed)
    steps = [each for known in own.values() for each in known if each not in taken]
    for regression in group_shifts(steps):
        others.setdefault(regression.line, []).append(regression.position)
    searches = [test.search(others.get(test.series.key.line, ())) for test in tests]
    found = [got for got in searches if got is not None]
    return CreepSearch([got[0] for got in found], [shift for got in found for shift in got[1]])


def worse_steps(shift: Shift) -> float:
    """Return the loss, as a fraction, that reported steps within a creep already explain.

    A comparison of the anchor with the newest revision measures the creep together with these
    steps.
    """
    parts = shift.parts.contributions if shift.parts is not None else ()
    steps = [each.effect for each in parts if each.step]
    sizes = [math.log1p(size) for size in steps if is_worse(shift.series.metric, size)]
    return abs(math.expm1(sum(sizes)))


def _shown(series: Series, own: Sequence[Shift], others: Sequence[int]) -> list[int]:
    """Return where a series would have the steps that other series of its line show.

    ``others`` are the positions of the steps in other series. If one of the series' own steps
    (``own``) may be the same step, the position of that one is returned.
    """
    measured = series.measured
    places = measured[np.searchsorted(measured, others).clip(max=len(measured) - 1)].tolist()
    return [
        next((each.position for each in own if each.earliest <= place <= each.latest), place)
        for place, other in zip(places, others, strict=True)
        if place >= other
    ]


class _SeriesTest(NamedTuple):
    """The test of a series for creep; ``test`` is None if the series is not tested.

    ``steps`` are the shifts of level found in the series, ``later`` is the part of the series from
    the anchor of its line on.
    """

    series: Series
    steps: Sequence[Shift]
    watch: DetectionSettings
    later: Series
    test: CreepTest | None

    @classmethod
    def of(
        cls, series: Series, steps: Sequence[Shift], watch: DetectionSettings, anchor: int
    ) -> _SeriesTest:
        """Prepare the test of a series whose line has its anchor at the position ``anchor``."""
        sought = watch.creep and watch.reports(worse=True) and series.key.metric != SLA
        if not sought or is_counted(series.key) or not len(series.values):
            return cls(series, steps, watch, series, None)
        later = series.where(series.positions >= anchor)
        test = CreepTest(later.values, positions=later.positions)
        return cls(series, steps, watch, later, test)

    def absorbs(self) -> bool:
        """Return whether a creep explains one of the series' steps better than a step does."""
        return self.test is not None and self.test.absorbs([shift.position for shift in self.steps])

    def search(self, elsewhere: Sequence[int] = ()) -> tuple[Shift, list[Shift]] | None:
        """Return the creep of the series, and those of its own steps that count as part of it.

        ``elsewhere`` are the positions of steps that other series of the line show.
        """
        if self.test is None:
            return None
        metric = self.series.key.metric
        better: Better = "lower" if is_worse(metric, 1.0) else "higher"
        found = self.test.creep(
            changes=[shift.position for shift in self.steps],
            elsewhere=_shown(self.series, self.steps, elsewhere),
            # A single step of this size would have been reported.
            smallest=max(self.watch.creep, self.watch.min_effect),
            better=better,
            most=LISTED,
        )
        if found is None or abs(found.after - found.before) < LEAST_CHANGE.get(metric, 0.0):
            return None
        return _shift(self.later, found), [
            shift for shift in self.steps if shift.position in found.absorbed
        ]


def _shift(series: Series, found: Creep) -> Shift:
    first, last = int(series.positions[0]), int(series.positions[-1])
    revisions = map(series.revision, range(len(series.at)))
    labels = dict(zip(series.positions.tolist(), revisions, strict=True))
    return Shift(
        series=series.key,
        kind=RegressionKind.CREEP,
        position=last,
        earliest=first + 1,
        latest=last,
        last_good=labels[first],
        first_bad=labels[last],
        before=found.before,
        after=found.after,
        effect=found.effect,
        effect_low=max(found.effect_interval[0], MOST_LOST),
        effect_high=found.effect_interval[1],
        pvalue=found.pvalue,
        worse=True,
        parts=CreepParts(
            contributions=tuple(
                Contribution(
                    revision=labels[int(one.position)],
                    effect=one.effect,
                    low=one.interval[0],
                    high=one.interval[1],
                    step=one.step,
                )
                for one in found.contributions
            ),
            remainder=found.remainder,
            remainder_low=found.remainder_interval[0],
            remainder_high=found.remainder_interval[1],
        ),
    )
