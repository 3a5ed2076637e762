"""The data files of the site: scripts, because a page opened from disk may load nothing else."""

from __future__ import annotations

import base64
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.metrics import METRICS
from pipeline.model import Regression, Shift
from pipeline.report.safety import embedded
from pipeline.report.setups import Place
from pipeline.report.site.overview import more_is_better, view_groups
from pipeline.report.site.trends import Trend
from pipeline.report.wording import change, interval

SLA = "sla"
"""The metric of steps that have to sustain a rate of work beside what they measure."""

Told = Mapping[Place, list[tuple[Regression, Shift]]]
"""The change points of every place with the regressions that they are part of."""


def script(name: str, document: Mapping[str, Any]) -> str:
    """Return a file that hands a document to the page. ``name`` is what the page asked for."""
    return f"nightshift({embedded({'name': name, 'data': document})});\n"


def packed(values: npt.NDArray[Any], kind: str) -> str:
    """Return numbers as base64 of a little-endian array, for a typed array of that kind.

    A browser reads a million of them in the time that JSON takes for a tenth.
    """
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()


def view_trend(trend: Trend, name: str, folder: str, places: Mapping[Place, str]) -> dict[str, Any]:
    """Return what the page knows of a trend from the start.

    ``name`` is its name in links, ``folder`` where its data are, ``places`` has the anchors of its
    steps on the report page.
    """
    metrics = trend.metrics
    return {
        "name": name,
        "folder": folder,
        "line": trend.line.name,
        "target": trend.line.target,
        "title": trend.setup.title,
        "steps": [
            {
                "name": step.name,
                "group": step.group,
                "unit": step.unit,
                "anchor": places.get((trend.line.name, trend.setup, step.name), ""),
            }
            for step in trend.steps
        ],
        "metrics": metrics,
        "headline": trend.headline,
        "sla": SLA in metrics,
        "revisions": len(trend.revisions),
        "runs": len(trend.runs),
        "base": trend.revisions[0].label,
        "newest": trend.revisions[-1].label,
        "groups": view_groups(trend),
    }


def view_metrics(names: set[str]) -> dict[str, dict[str, Any]]:
    """Return what the page has to know of metrics: unit, good direction, definition."""
    return {
        name: {
            "unit": METRICS[name].unit if name in METRICS else "",
            "more": more_is_better(name),
            "help": METRICS[name].help if name in METRICS else name,
        }
        for name in sorted(names)
    }


def files_of(trend: Trend, folder: str, told: Told) -> Iterator[tuple[str, str]]:
    """Yield the data files of a trend: name without its ending, and content.

    ``trend`` has revisions, runs, change points and failures; ``metric-N`` the medians of the Nth
    metric, steps by revisions; ``step-N`` the figures of every run of the Nth step.
    """
    name = f"{folder}/trend"
    yield name, script(name, _trend(trend, told))
    for number, metric in enumerate(trend.metrics):
        name = f"{folder}/metric-{number}"
        yield name, script(name, {"medians": packed(trend.medians(metric), "<f4")})
    for number, step in enumerate(trend.steps):
        name = f"{folder}/step-{number}"
        values = {
            metric: packed(found, "<f4")
            for metric in trend.metrics
            if (found := trend.values.get((step.name, metric))) is not None
        }
        yield name, script(name, {"values": values})


def _trend(trend: Trend, told: Told) -> dict[str, Any]:
    dates, made = trend.dates()
    number = {run.run_id: place for place, run in enumerate(trend.runs)}
    steps = {step.name: place for place, step in enumerate(trend.steps)}
    return {
        "labels": [revision.label for revision in trend.revisions],
        "dates": packed(np.array([date.timestamp() for date in dates]), "<f8"),
        "made": made,
        "places": packed(trend.places, "<u4"),
        "repetitions": packed(np.array([run.repetition for run in trend.runs]), "<u4"),
        "measured": packed(np.array([run.started_at.timestamp() for run in trend.runs]), "<f8"),
        "changes": [
            {"step": place, **_change(trend, regression, shift)}
            for step, place in steps.items()
            for regression, shift in told.get((trend.line.name, trend.setup, step), ())
        ],
        "failures": [
            [number[one.run_id], steps[one.step], one.status, one.note]
            for one in trend.failures
            if one.step in steps
        ],
    }


def _change(trend: Trend, regression: Regression, shift: Shift) -> dict[str, Any]:
    """Positions become indices of the revisions that were measured."""
    last = len(trend.positions) - 1
    index = [
        min(bisect_left(trend.positions, position), last)
        for position in (shift.position, shift.earliest, shift.latest)
    ]
    return {
        "metric": shift.series.metric,
        "at": index[0],
        "earliest": index[1],
        "latest": index[2],
        "worse": shift.worse,
        "text": change(shift),
        "interval": interval(shift),
        "state": regression.state.value,
        "kind": shift.kind.value,
        "fingerprint": regression.fingerprint,
    }
