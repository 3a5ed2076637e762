"""Change points, and what became of regressions: facts that can be taken back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from pipeline.analyse.regressions import worst
from pipeline.analyse.states import Bounds, History
from pipeline.model import Regression, RegressionState, Shift
from pipeline.publish.facts import Fact
from pipeline.publish.names import OTHERS, REVISION, RUN
from pipeline.publish.samples import labelled, milliseconds
from pipeline.publish.strands import VERSION_LENGTH, Setup, Standing, Strand
from pipeline.store.regressions import RegressionRow


def change_facts(regressions: Iterable[Regression], strands: Iterable[Strand]) -> Iterator[Fact]:
    """Yield the change points of what is held for one: what was rejected is none.

    Each is told at the time of the first run of its first bad revision, and at the time when that
    was made, where it is known.
    """
    standings = {
        (strand.setup, standing.label): standing
        for strand in strands
        for standing in strand.standings
    }
    for regression in regressions:
        if regression.state is RegressionState.REJECTED:
            continue
        for shift in regression.shifts:
            standing = standings.get((_setup(shift), shift.first_bad))
            if standing is not None:
                yield from _points(shift, regression, standing)


def regression_facts(known: Iterable[RegressionRow]) -> Iterator[Fact]:
    """Yield the state of every regression after each event, and the effect it was found with."""
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


def _states(row: RegressionRow) -> Mapping[int, RegressionState]:
    """Return the states that a regression went through, each by when it began, in milliseconds.

    Of two at one time, as of one that is found again and has recovered, it is in the latter.
    """
    history = History(row.regression, Bounds("", "", ""))
    began: dict[int, RegressionState] = {}
    last = None
    for event in row.events:
        history.add(event)
        if history.state is not last:
            last = began[milliseconds(event.at)] = history.state
    return began


def _points(shift: Shift, regression: Regression, standing: Standing) -> Iterator[Fact]:
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
                **_setup(shift)._asdict(),
                step=series.step,
                group=series.group,
                **more,
            )
            yield Fact(labels, milliseconds(at), shift.effect)


def _setup(shift: Shift) -> Setup:
    series = shift.series
    return Setup(
        line=series.line,
        target=series.target,
        config=series.config,
        build_options=series.build_options,
        machine_class=series.machine_class,
        workload=series.workload,
        workload_version=series.workload_hash[:VERSION_LENGTH],
        clients=series.clients,
    )


def _word(value: bool) -> str:
    return "true" if value else "false"
