"""Publish change points and states of regressions, which may be withdrawn later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from pipeline.model import Regression, RegressionState, Shift
from pipeline.publish.measured_setups import MeasuredSetup, PublishedSetup, RevisionRuns
from pipeline.publish.names import OTHERS, REVISION, RUN
from pipeline.publish.revocable import Fact
from pipeline.publish.samples import labelled, milliseconds
from pipeline.regressions.grouping import worst
from pipeline.regressions.states import KnownRegression


def change_facts(
    regressions: Iterable[Regression], setups: Iterable[MeasuredSetup]
) -> Iterator[Fact]:
    """Yield the change points of all regressions, except rejected ones.

    Each change point has one sample at the time of the first run of its first bad revision and, if
    known, one at the time when that revision was made.
    """
    standings = {
        (measured.setup, standing.label): standing
        for measured in setups
        for standing in measured.standings
    }
    for regression in regressions:
        if regression.state is RegressionState.REJECTED:
            continue
        for shift in regression.shifts:
            setup = PublishedSetup.of(shift.series.line, shift.series)
            standing = standings.get((setup, shift.first_bad))
            if standing is not None:
                yield from _points(shift, regression, standing)


def regression_facts(known: Iterable[KnownRegression]) -> Iterator[Fact]:
    """Yield the state of every regression over time, and its effect."""
    for row in known:
        found = row.regression
        labels = {
            "fingerprint": found.fingerprint,
            "line": found.line,
            "target": found.target,
            "kind": found.kind.value,
            "worse": _word(found.worse),
            "last_good": found.last_good,
            "first_bad": found.first_bad,
        }
        effect = labelled(OTHERS["regression_effect_ratio"].name, **labels)
        yield Fact(effect, milliseconds(row.events[0].at), worst(found).effect)
        for at, state in _states(row).items():
            for each in RegressionState:
                series = labelled(OTHERS["regression_state"].name, **labels, state=each.value)
                yield Fact(series, at, float(each is state))


def _states(row: KnownRegression) -> Mapping[int, RegressionState]:
    """Return the states of a regression by the times at which they began, in milliseconds.

    Of two states with the same start, for example after a new finding with an immediate recovery,
    the later one counts.
    """
    suspected = row.regression.model_copy(update={"state": RegressionState.SUSPECTED})
    history = KnownRegression(suspected)
    began: dict[int, RegressionState] = {}
    last = None
    for event in row.events:
        history.add(event)
        if history.state is not last:
            last = began[milliseconds(event.at)] = history.state
    return began


def _points(shift: Shift, regression: Regression, standing: RevisionRuns) -> Iterator[Fact]:
    series = shift.series
    more = {
        "metric": series.metric,
        "kind": shift.kind.value,
        "worse": _word(shift.worse),
        "fingerprint": regression.fingerprint,
    }
    times: Mapping[str, datetime | None] = {RUN: standing.first_run, REVISION: standing.made}
    for view, at in times.items():
        if at is not None:
            labels = labelled(
                OTHERS[f"{view}_change_point_effect_ratio"].name,
                **PublishedSetup.of(series.line, series)._asdict(),
                step=series.step,
                group=series.group,
                **more,
            )
            yield Fact(labels, milliseconds(at), shift.effect)


def _word(value: bool) -> str:
    return "true" if value else "false"
