"""The data files of the site, as scripts: a page opened from disk cannot load other files."""

from __future__ import annotations

import base64
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.model.metrics import METRICS
from pipeline.site.changes import ShownChange, view_change
from pipeline.site.content_security import embedded
from pipeline.site.overview import more_is_better, view_groups
from pipeline.site.setups import Place
from pipeline.site.trends import Trend

SLA = "sla"
"""The metric of steps with background work that must reach a target rate."""

ChangesByPlace = Mapping[Place, list[ShownChange]]
"""The change points of every place."""


def script(name: str, document: Mapping[str, Any]) -> str:
    """Return a script file that hands data to the page under a name."""
    return f"nightshift({embedded({'name': name, 'data': document})});\n"


def packed(values: npt.NDArray[Any], kind: str) -> str:
    """Return numbers as base64, from which the page makes a typed array.

    A browser reads a million numbers ten times as fast as from JSON.
    """
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()


def view_trend(
    trend: Trend,
    name: str,
    folder: str,
    places: Mapping[Place, str],
    functions: Collection[str] = (),
) -> dict[str, Any]:
    """Return the part of a trend's data that is in the page itself, not in data files.

    ``name`` is its name in links, ``folder`` the folder of its data files, ``places`` has the
    anchors of its steps on the report page, and ``functions`` the steps with series by function.
    """
    metrics = trend.metrics
    return {
        "name": name,
        "folder": folder,
        "line": trend.line.name,
        "target": trend.line.target,
        "title": trend.setup.title,
        "mode": trend.mode.value,
        "setup": [trend.setup.config, trend.setup.build_options, trend.setup.machine_class],
        "steps": [
            {
                "name": step.name,
                "group": step.group,
                "unit": step.unit,
                "anchor": places.get((trend.line.name, trend.setup, step.name), ""),
                "functions": step.name in functions,
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
    """Return for the page each metric's unit, good direction and definition."""
    return {
        name: {
            "unit": METRICS[name].unit if name in METRICS else "",
            "more": more_is_better(name),
            "help": METRICS[name].help if name in METRICS else name,
        }
        for name in sorted(names)
    }


def files_of(trend: Trend, folder: str, changes: ChangesByPlace) -> Iterator[tuple[str, str]]:
    """Yield the data files of a trend: name and content.

    ``trend`` has revisions, runs, change points and failures; ``metric-N`` the medians of the Nth
    metric, steps by revisions; ``step-N`` the values of every run of the Nth step.
    """
    name = f"{folder}/trend"
    yield name, script(name, _trend(trend, changes))
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


def _trend(trend: Trend, changes: ChangesByPlace) -> dict[str, Any]:
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
            {"step": place, **_change(trend, point)}
            for step, place in steps.items()
            for point in changes.get((trend.line.name, trend.setup, step), ())
        ],
        "failures": [
            [number[one.run_id], steps[one.step], one.status, one.note]
            for one in trend.failures
            if one.step in steps
        ],
    }


def _change(trend: Trend, point: ShownChange) -> dict[str, Any]:
    """Return a change point as JSON; its positions are indices of the measured revisions."""
    last = len(trend.positions) - 1
    at, earliest, latest = (
        min(bisect_left(trend.positions, position), last)
        for position in (point.shift.position, point.shift.earliest, point.shift.latest)
    )
    return view_change(point, at, max(0, earliest - 1), latest)
