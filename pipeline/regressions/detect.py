"""The detect stage: search every watched series of a plan for changes."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Engine

from pipeline.config import DetectSection
from pipeline.environment.assess import (
    NOTHING_KNOWN,
    EnvironmentAssessment,
    environment_of,
    measured_where,
)
from pipeline.environment.outages import without_outages
from pipeline.measure.plan import Plan
from pipeline.model import SeriesKey, Shift
from pipeline.regressions.anchors import Anchors
from pipeline.regressions.counted import by_mode
from pipeline.regressions.creep import find_creep
from pipeline.regressions.detected import Detected
from pipeline.regressions.grouping import group_shifts
from pipeline.regressions.machine_noise import known_noise
from pipeline.regressions.pooled_detection import shared_shifts
from pipeline.regressions.rules import Rules
from pipeline.regressions.search_cache import Once, compute_anew, digest_of_parts
from pipeline.regressions.shifts import NOTHING_SHARED, search_series
from pipeline.regressions.watched import SLA, watched_metrics, watched_series
from pipeline.storage.columns import measurement_columns
from pipeline.storage.controls import control_rows
from pipeline.storage.runs import hostnames
from pipeline.storage.series import Ints, RunIndex, Series


class Searched(NamedTuple):
    """The input of detection: series corrected for their machines, and the machines' assessment."""

    series: list[Series]
    environment: EnvironmentAssessment


def searched_series(
    store: Engine, plan: Plan, settings: DetectSection, results: Path | None = None
) -> list[Series]:
    """Return the series that detection searches: not muted, and corrected for machines."""
    return searched(store, plan, settings, results).series


def searched(
    store: Engine,
    plan: Plan,
    settings: DetectSection,
    results: Path | None = None,
    *,
    save: bool = False,
) -> Searched:
    """Read the watched series of a plan, and correct them for changes of their machines.

    The function drops nights with a machine outage and calibrates the series with the controls.
    Neither applies to counted or imported series. ``results`` has the cached columns of earlier
    nights; with ``save`` they are written for the next night.
    """
    columns = measurement_columns(store, watched_metrics(plan, settings), results, save=save)
    cells = set(plan.keys())
    measured = [head for head in columns.heads if head.cell_key in cells]
    machines = hostnames(store)
    watched = by_mode(watched_series(columns, plan, settings))
    names = {line.name for line in plan.lines if line.imported}
    imported = [one for one in watched.timed if one.key.line in names]
    own = [one for one in watched.timed if one.key.line not in names]
    series = without_outages(own, measured, machines, settings.min_effect)
    environment = environment_of(
        control_rows(store, settings.metrics),
        measured_where(measured, machines),
        Rules(settings).alarms_per_1000(len(series) + len(imported)),
        settings.min_effect,
    )
    series = [*environment.calibrated(series), *imported, *watched.counted]
    return Searched(series, environment)


def detect_all(
    store: Engine,
    plan: Plan,
    settings: DetectSection,
    progress: Callable[[], None] = lambda: None,
) -> Detected:
    """Detect changes in all watched series of a plan. Calls ``progress`` once for each series."""
    series, environment = searched(store, plan, settings)
    return search(series, plan, Rules(settings), progress, environment)


def search(
    series: Sequence[Series],
    plan: Plan,
    rules: Rules,
    progress: Callable[[], None] = lambda: None,
    environment: EnvironmentAssessment = NOTHING_KNOWN,
    once: Once = compute_anew,
    anchors: Anchors = MappingProxyType({}),
) -> Detected:
    """Search the prepared series of a plan for regressions, by the detection rules.

    ``once`` may have the results of earlier nights. ``anchors`` are the anchors of creep, for lines
    whose anchor is not their first revision.
    """
    timed, counted = by_mode(rules.unmuted(series))
    noises = known_noise(timed)

    measured = _MeasuredRevisions()

    detectable: dict[SeriesKey, float] = {}

    def find(one: Series) -> list[Shift]:
        watch = rules.settings_of(one.key, len(timed))
        noise = noises.get(one.key, NOTHING_SHARED)
        parts = (
            "shifts",
            one.key.model_dump_json(),
            watch.model_dump_json(),
            repr(noise),
            measured.digest_of(one),
            one.values.tobytes(),
        )

        def compute() -> tuple[list[dict[str, Any]], float | None]:
            made = search_series(one, watch, noise)
            return [shift.model_dump(mode="json") for shift in made.shifts], made.detectable

        found, smallest = once(parts, compute)
        if smallest is not None and one.key.metric != SLA:
            detectable[one.key] = smallest
        return [Shift.model_validate(shift) for shift in found]

    def shifts_of(searched: Sequence[Series]) -> list[Shift]:
        shifts = []
        # Most of a search is compiled, and runs beside the others.
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            for found in workers.map(find, searched):
                shifts += found
                progress()
        return shifts

    shifts = shifts_of(timed)
    shifts += shared_shifts(timed, shifts, rules, once)
    # What a machine explains is a step, too.
    creep = find_creep(timed, shifts, rules, anchors)
    absorbed = set(creep.absorbed)
    shifts = [shift for shift in shifts if shift not in absorbed]
    shifts, excused = environment.sort_out(shifts, timed)
    return Detected(
        plan=plan.hash,
        series=len(timed) + len(counted),
        smallest=smallest_change(detectable),
        regressions=tuple(group_shifts([*shifts, *creep.found, *shifts_of(counted)])),
        excused=tuple(excused),
    )


def smallest_change(detectable: Mapping[SeriesKey, float]) -> float | None:
    """Return the smallest change that the median step could show; None if it could show none.

    A step shows what the most sensitive of its metrics shows.
    """
    steps: dict[SeriesKey, float] = {}
    for key, effect in detectable.items():
        step = key.model_copy(update={"metric": ""})
        steps[step] = min(effect, steps.get(step, math.inf))
    median = statistics.median(steps.values()) if steps else math.inf
    return median if math.isfinite(median) else None


class _MeasuredRevisions:
    """Computes digests of the revisions and positions of series, once for all that share them."""

    def __init__(self) -> None:
        self._known: list[tuple[RunIndex, Ints, str]] = []

    def digest_of(self, series: Series) -> str:
        """Return the digest of the revisions and positions of a series' values."""
        for runs, at, known in self._known:
            if runs is series.runs and np.array_equal(at, series.at):
                return known
        labels = map(series.runs.revisions.__getitem__, series.at.tolist())
        found = digest_of_parts("\n".join(labels), series.positions.tobytes())
        self._known.append((series.runs, series.at, found))
        return found
