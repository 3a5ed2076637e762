"""The stage detect: every watched series of a plan, searched for changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy import Engine

from pipeline.analyse.detected import Detected
from pipeline.analyse.environment.environment import (
    NOTHING_KNOWN,
    Environment,
    environment_of,
    measured_where,
)
from pipeline.analyse.outages import without_outages
from pipeline.analyse.regressions import group_shifts
from pipeline.analyse.rules import Rules
from pipeline.analyse.series import series_along
from pipeline.analyse.shifts import SLA, find_shifts
from pipeline.analyse.together import shared_shifts
from pipeline.config import DetectSection
from pipeline.execute.plan import Plan
from pipeline.model import Series
from pipeline.store.controls import control_rows
from pipeline.store.queries import rows, runs


class Searched(NamedTuple):
    """What is searched: series as the machines of their classes would have measured them."""

    series: list[Series]
    environment: Environment


def watched_series(store: Engine, plan: Plan, metrics: tuple[str, ...]) -> list[Series]:
    """Return the series of a plan's lines in the metrics, line by line."""
    return [
        series
        for line in plan.lines
        for series in series_along(
            line.name,
            [revision.label for revision in line.revisions],
            rows(store, cells=line.keys(), metrics=metrics),
        )
    ]


def searched_series(store: Engine, plan: Plan, settings: DetectSection) -> list[Series]:
    """Return the series that are searched: see :func:`searched`."""
    return searched(store, plan, settings).series


def searched(store: Engine, plan: Plan, settings: DetectSection) -> Searched:
    """Return what is searched: the watched series and the SLAs, without what is the machines'.

    That are nights in which a machine was not itself, and what its controls say of it.
    """
    measured = runs(store, cells=plan.keys())
    series = without_outages(
        watched_series(store, plan, (*settings.metrics, SLA)), measured, settings.min_effect
    )
    environment = environment_of(
        control_rows(store, settings.metrics),
        measured_where(measured),
        Rules(settings).alarms_per_1000(len(series)),
        settings.min_effect,
    )
    return Searched(environment.calibrated(series), environment)


def detect_all(
    store: Engine,
    plan: Plan,
    settings: DetectSection,
    progress: Callable[[], None] = lambda: None,
) -> Detected:
    """Search the watched series of a plan. Calls ``progress`` once a series."""
    series, environment = searched(store, plan, settings)
    return search(series, plan, Rules(settings), progress, environment)


def search(
    series: Sequence[Series],
    plan: Plan,
    rules: Rules,
    progress: Callable[[], None] = lambda: None,
    environment: Environment = NOTHING_KNOWN,
) -> Detected:
    """Search series of a plan, as :func:`searched` returns them, by the rules."""
    heard = rules.heard(series)
    shifts = []
    for one in heard:
        shifts += find_shifts(one, rules.watch(one.key, len(heard)))
        progress()
    shifts += shared_shifts(heard, shifts, rules)
    shifts, excused = environment.sort_out(shifts, heard)
    return Detected(
        plan=plan.hash,
        series=len(heard),
        regressions=tuple(group_shifts(shifts)),
        excused=tuple(excused),
    )
