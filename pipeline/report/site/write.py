"""From the store to a folder of files, whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from sqlalchemy import Engine

from pipeline.analyse.detected import Detected
from pipeline.analyse.environment.events import EnvironmentEvent
from pipeline.config import ReportSection
from pipeline.durable import write_whole
from pipeline.errors import UserError
from pipeline.execute.plan import Plan
from pipeline.model import Regression, Shift, digest
from pipeline.report.assets import program, styles
from pipeline.report.safety import embedded, policy
from pipeline.report.setups import Place, Setup, name_places
from pipeline.report.site.data import files_of, script, view_metrics, view_trend
from pipeline.report.site.machines import Machines
from pipeline.report.site.overview import view_regressions
from pipeline.report.site.trends import Trend, each_trend
from pipeline.report.wording import Anchors, moment
from pipeline.store.derive.background import SUSTAINED
from pipeline.store.queries import machines
from pipeline.store.regressions import RegressionRow

_PACKAGE = "pipeline.report.site"
_SCRIPTS = (
    *("data", "state", "paint", "chart", "parts", "table"),
    *("overview", "trend", "step", "compare", "sla", "machines", "site"),
)
_STAMP = 12
"""Digits by which the data of one site are told from those of the one before."""

_MARK = '<meta name="generator" content="nightshift site">'
"""By which a page of ours is known, so that no other is written over."""


def write_site(
    folder: Path,
    store: Engine,
    plan: Plan,
    detected: Detected,
    known: Sequence[RegressionRow],
    settings: ReportSection,
    now: datetime,
    report: Path | None = None,
    issues: Mapping[str, Path] | None = None,
    events: Sequence[EnvironmentEvent] = (),
) -> Path:
    """Write the trend site of a plan's lines into ``folder`` and return its first page.

    ``detected`` is what the last detection found, ``known`` the regressions of the store, ``now``
    the time with its zone. ``report`` is the report page and ``issues`` the files of regressions
    by fingerprint, for links. ``events`` are those of the machines, the newest first.

    Data go into a folder with a new name, then the page is put in place of the old one, and then
    the old data leave: killed at any moment, there is a whole site. Raises UserError when it
    cannot be written, or when ``folder`` has a page that is not ours.
    """
    page = folder / "index.html"
    data = folder / f"data-{digest([now, plan.hash])[:_STAMP]}"
    try:
        if page.exists() and _MARK not in page.read_text(encoding="utf-8", errors="replace"):
            raise UserError(f"{page} is not a trend site; choose another folder with --output")
        data.mkdir(parents=True, exist_ok=True)
        index = _write_data(data, store, plan, detected, events)
        index |= {
            "data": data.name,
            "written": moment(now),
            "report": _link(report, folder) if report is not None else "",
            "limits": {
                "worse": settings.worse,
                "better": settings.better,
                "sustained": SUSTAINED,
            },
            "regressions": view_regressions(
                detected,
                known,
                index.pop("names"),
                {name: _link(path, folder) for name, path in (issues or {}).items()},
            ),
        }
        write_whole(page, _render(index))
    except OSError as error:
        shutil.rmtree(data, ignore_errors=True)
        raise UserError(
            f"the site {folder} cannot be written: {error.strerror}; mend it and run "
            "`nightshift site`"
        ) from error
    for other in folder.glob(f"data-{'[0-9a-f]' * _STAMP}"):
        if other != data:
            shutil.rmtree(other, ignore_errors=True)
    return page


def _write_data(
    data: Path,
    store: Engine,
    plan: Plan,
    detected: Detected,
    events: Sequence[EnvironmentEvent],
) -> dict[str, Any]:
    """Write the data files and return what the page has of them from the start.

    One trend after the other, so that only one has to be held.
    """
    told = _changes(detected)
    anchors, names = Anchors(), Anchors()
    met = Machines(machines(store))
    named: dict[tuple[str, Setup], str] = {}
    views, metrics = [], set[str]()
    for number, trend in enumerate(each_trend(store, plan)):
        name = names.new(*_name(trend))
        named[trend.line.name, trend.setup] = name
        steps = ((trend.line.name, trend.setup, step.name) for step in trend.steps)
        views.append(view_trend(trend, name, str(number), name_places(steps, anchors)))
        metrics |= set(trend.metrics)
        (data / str(number)).mkdir(exist_ok=True)
        for file, content in files_of(trend, str(number), told):
            _write(data / f"{file}.js", content)
        met.add(trend, name)
    _write(data / "machines.js", script("machines", met.document(events)))
    return {"trends": views, "metrics": view_metrics(metrics), "names": named}


def _name(trend: Trend) -> tuple[str, ...]:
    """Return what a trend is called in links, the same from night to night."""
    setup = trend.setup
    clients = f"{setup.clients}c"
    return (
        *(trend.line.name, setup.workload, clients),
        *(setup.config, setup.build_options, setup.machine_class),
    )


def _changes(detected: Detected) -> dict[Place, list[tuple[Regression, Shift]]]:
    """Return the change points that were found at every place."""
    told: dict[Place, list[tuple[Regression, Shift]]] = {}
    for regression in detected.regressions:
        for shift in regression.shifts:
            place = (regression.line, Setup.of(shift.series), shift.series.step)
            told.setdefault(place, []).append((regression, shift))
    return told


def _write(path: Path, content: str) -> None:
    path.write_text(content, encoding="ascii")


def _link(path: Path, folder: Path) -> str:
    return quote(os.path.relpath(path.resolve(), folder.resolve()))


def _render(index: Mapping[str, Any]) -> str:
    """Fill the template. Values are escaped by it; only our own files are taken as they are."""
    environment = Environment(
        loader=PackageLoader(_PACKAGE), autoescape=True, undefined=StrictUndefined
    )
    text = program(_PACKAGE, _SCRIPTS)
    return environment.get_template("index.html.j2").render(
        mark=_MARK,
        style=styles(_PACKAGE, "site.css"),
        script=text,
        policy=policy([text], loads=True),
        index=embedded(index),
        written=index["written"],
    )
