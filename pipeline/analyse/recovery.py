"""Whether a regression is gone: the newest revisions are measured to be as good as the old ones.

The nights tell it in time. Where something became better behind a regression it can be asked at
once: the newest revision is measured beside the last good one, in blocks, as to confirm.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from changepoint import compare
from changepoint.verdict import Better, Verdict
from pipeline.analyse.confirm import experiment_of, planned_cells
from pipeline.analyse.interleaved import Answer
from pipeline.analyse.record import Experiment
from pipeline.analyse.regressions import clearest, size
from pipeline.config import ConfirmSection
from pipeline.execute.plan import Plan
from pipeline.metrics import is_worse
from pipeline.model import Regression, RegressionKind, Series, SeriesKey, Shift

RECENT = 3
"""Positions that speak for the present where no change point says since when it has been so: one
alone may be a good night."""


def recovered(
    regression: Regression,
    series: Mapping[SeriesKey, Series],
    later: Iterable[Shift],
    smallest: float,
) -> bool:
    """Say whether the series of a regression are back.

    That of its largest change has to be surely at the old level, within the ``smallest`` effect of
    interest, or better; and none may be surely worse. The present is what was measured since the
    last of the ``later`` shifts of a series, or at its newest ``RECENT`` positions. A spread is
    back when a change point says so.
    """
    changes = [shift for shift in later if shift.kind is regression.kind]
    if regression.kind is RegressionKind.SPREAD:
        largest = max(regression.shifts, key=size)
        return any(
            shift.series == largest.series and shift.position > largest.position and not shift.worse
            for shift in changes
        )
    verdicts = [
        (size(shift), _verdict(shift, series[shift.series], changes, smallest))
        for shift in regression.shifts
        if shift.series in series
    ]
    if not verdicts:
        return False
    _, worst = max(verdicts, key=lambda pair: pair[0])
    return worst in ("same", "better") and all(verdict != "worse" for _, verdict in verdicts)


def fix_of(regression: Regression, found: Sequence[Regression]) -> Regression | None:
    """Return the last improvement behind a regression in one of its series."""
    extent = {shift.series for shift in regression.shifts}
    behind = [
        one
        for one in found
        if not one.worse
        and one.position > regression.position
        and extent & {shift.series for shift in one.shifts}
    ]
    return max(behind, key=lambda one: one.position, default=None)


def experiment_for(
    regression: Regression, plan: Plan, settings: ConfirmSection, measured: Collection[str]
) -> Experiment:
    """Return what is measured to see whether a regression is gone from the newest revision.

    That is the newest that has runs, ``measured`` being the keys of the cells that do: of one
    behind it there may be no build. Raises as :func:`pipeline.analyse.confirm.experiment_of`.
    """
    asked = experiment_of(regression, plan, settings)
    shift, *_ = clearest(regression, 1)
    *_, newest = (cell for cell in planned_cells(plan, regression, shift) if cell.key in measured)
    head = newest.model_copy(update={"workload": asked.head.workload})
    return asked.model_copy(update={"kind": f"recover-{regression.fingerprint}", "head": head})


def is_back(answer: Answer) -> bool:
    """Say whether a change for the worse was excluded in every figure, on a machine at rest."""
    return not answer.moved and all(
        row.verdict in ("not worse", "same", "better") for row in answer.rows
    )


def _verdict(shift: Shift, series: Series, changes: Sequence[Shift], smallest: float) -> Verdict:
    own = [each.position for each in changes if each.series == shift.series]
    places = sorted({point.position for point in series.points})
    before = [place for place in own if place < shift.position]
    after = [place for place in own if place > shift.position]
    if after:
        since = max(after)
    else:
        recent = places[-RECENT:]
        # At least one position has to lie at the new level, or nothing was ever worse.
        if len(recent) < RECENT or recent[0] <= shift.latest:
            return "undecided"
        since = recent[0]
    old = _values(series, max(before, default=places[0]), shift.position)
    new = _values(series, since, places[-1] + 1)
    if not old or not new:
        return "undecided"
    better: Better = "lower" if is_worse(series.key.metric, 1.0) else "higher"
    return compare(old, new, smallest_effect=smallest, better=better).verdict


def _values(series: Series, first: int, stop: int) -> list[float]:
    return [point.value for point in series.points if first <= point.position < stop]
