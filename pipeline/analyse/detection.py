"""The stage detect: every watched series of a plan, searched for changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import ValidationError
from sqlalchemy import Engine

from pipeline.analyse.outages import without_outages
from pipeline.analyse.regressions import SLA, find_shifts, group_shifts
from pipeline.analyse.rules import Rules
from pipeline.analyse.series import series_along
from pipeline.analyse.together import shared_shifts
from pipeline.config import DetectSection
from pipeline.errors import UserError
from pipeline.execute.plan import Plan
from pipeline.model import Frozen, Regression, Series
from pipeline.store.queries import rows, runs

FILE = "detected.json"
"""Its name in the results folder."""


class Detected(Frozen):
    """What the last detection found, worst first, and in how many series it looked.

    ``plan`` is the identity of the plan it looked at.
    """

    plan: str
    series: int
    regressions: tuple[Regression, ...]


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
    """Return the series that are searched: the watched ones and the SLAs, without outages."""
    series = watched_series(store, plan, (*settings.metrics, SLA))
    return without_outages(series, runs(store, cells=plan.keys()), settings.min_effect)


def detect_all(
    store: Engine,
    plan: Plan,
    settings: DetectSection,
    progress: Callable[[], None] = lambda: None,
) -> Detected:
    """Search the watched series of a plan. Calls ``progress`` once a series."""
    return search(searched_series(store, plan, settings), plan, Rules(settings), progress)


def search(
    series: Sequence[Series],
    plan: Plan,
    rules: Rules,
    progress: Callable[[], None] = lambda: None,
) -> Detected:
    """Search series of a plan, as :func:`searched_series` returns them, by the rules."""
    heard = rules.heard(series)
    shifts = []
    for one in heard:
        shifts += find_shifts(one, rules.watch(one.key, len(heard)))
        progress()
    shifts += shared_shifts(heard, shifts, rules)
    return Detected(
        plan=plan.hash,
        series=len(heard),
        regressions=tuple(group_shifts(shifts)),
    )


def save_detected(detected: Detected, results: Path) -> Path:
    """Keep what was found for the stages after."""
    results.mkdir(parents=True, exist_ok=True)
    path = results / FILE
    partial = path.with_suffix(".partial")
    partial.write_text(detected.model_dump_json(indent=1))
    partial.rename(path)
    return path


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
