"""The stage detect: every watched series of a plan, searched for changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError
from sqlalchemy import Engine

from pipeline.analyse.environment.environment import (
    NOTHING_KNOWN,
    Environment,
    Excused,
    environment_of,
    measured_where,
)
from pipeline.analyse.outages import without_outages
from pipeline.analyse.regressions import SLA, find_shifts, group_shifts
from pipeline.analyse.rules import Rules
from pipeline.analyse.series import series_along
from pipeline.analyse.together import shared_shifts
from pipeline.config import DetectSection
from pipeline.durable import write_whole
from pipeline.errors import UserError
from pipeline.execute.plan import Plan
from pipeline.model import Frozen, Regression, Series
from pipeline.store.controls import control_rows
from pipeline.store.queries import rows, runs

FILE = "detected.json"
"""Its name in the results folder."""


class Detected(Frozen):
    """What the last detection found, worst first, and in how many series it looked.

    ``plan`` is the identity of the plan it looked at. ``excused`` are shifts that are part of no
    regression, as a machine changed then and may be all there is to them.
    """

    plan: str
    series: int
    regressions: tuple[Regression, ...]
    excused: tuple[Excused, ...] = ()


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


def save_detected(detected: Detected, results: Path) -> Path:
    """Keep what was found for the stages after."""
    results.mkdir(parents=True, exist_ok=True)
    return write_whole(results / FILE, detected.model_dump_json(indent=1))


def kept_detection(results: Path) -> Detected | None:
    """Return what the last detection found, of whatever plan; None if there was none.

    Raises UserError when the file is damaged.
    """
    path = results / FILE
    try:
        return Detected.model_validate_json(path.read_text())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise UserError(f"{path} is damaged; run `nightshift detect` again") from error


def load_detected(results: Path, plan: Plan) -> Detected:
    """Return what the last detection found. Raises UserError when it was not of this plan."""
    path = results / FILE
    detected = kept_detection(results)
    if detected is None:
        raise UserError(
            f"nothing was searched for changes in {results} yet; run `nightshift detect`"
        )
    if detected.plan != plan.hash:
        raise UserError(
            f"what {path} holds is of another plan; run `nightshift detect` (with --quick, if "
            "that was meant) first"
        )
    return detected
